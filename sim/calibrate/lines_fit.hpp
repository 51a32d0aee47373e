#pragma once
// Fits the lines of an NVLink node (sim/nccl/lines.hpp) to measured tables.
#include <vector>

#include "sim/calibrate/measurement.hpp"

namespace ddpsim::calibrate {

// Of one operation, and which of its parameters (in the order of kRingParameters or kPeerParameters) rows of
// their protocol could inform. The others are the class's, latencies times what the machine's small messages
// take of the class's. `entry.identified` are those that some row's time depends on; its `fitted_to` is of
// the known lines only, where something is still theirs.
struct FittedLines {
  nccl::Calibration::NodeEntry entry;
  std::vector<bool> informed;
};

// The rows that lines say something about: all but those that NCCL sends over a tree.
std::vector<Point> points_on_lines(const Measurement& measurement);

// Of all tables of one machine, each inside an NVLink node and of all_reduce, all_gather, reduce_scatter or
// all_to_all. The first three share everything but what memory does to their bandwidth (ll_memory,
// simple_link and simple_memory). Starts from `known` where it has lines, else from the class's, and stays
// near it where rows say little.
std::vector<FittedLines> fit_lines(const std::vector<const Measurement*>& machine,
                                   const nccl::Calibration& known);

// The geometric mean of lines of one operation; a parameter that rows of some machines informed is the mean
// over those.
FittedLines mean_of(const std::vector<FittedLines>& machines);

}  // namespace ddpsim::calibrate
