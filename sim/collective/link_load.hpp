#pragma once
#include <functional>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

// The bytes an edge carries for each byte of the buffer: all steps of a ring's, of all of every chunk its
// piece on a pipeline's.
double bytes_through(const Channel& channel, Operation operation, const Edge& edge);

// Adds what goes over each link when a stage carries a buffer of so many bytes; links from `bytes.size()` on
// are left out.
void add_link_bytes(const Stage& stage, Bytes buffer, std::vector<double>& bytes);

// How long the most loaded link is busy for each byte of the buffer: no execution of the schedule takes less.
struct LinkLoad {
  double seconds_per_byte = 0;
  int link = -1;  // the first of the most loaded; -1 when no edge has a link
};

// The bytes of all channels and stages over each link, over its capacity, which is asked for once.
LinkLoad heaviest_link(const CollectiveSchedule& schedule,
                       const std::function<BytesPerSecond(int link)>& capacity);

}  // namespace ddpsim
