#pragma once
// Which algorithm Open MPI's module tuned picks by its fixed rules, from the number of ranks and the size.
#include <cstdint>
#include <span>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"
#include "sim/mpi/algorithms.hpp"

namespace ddpsim::mpi {

inline constexpr std::string_view kRelease = "Open MPI 5.0.10";

// Below so many ranks and bytes this one. The bytes are those of a rank's part where each rank has one, else
// of the whole buffer.
struct Rule {
  int below_ranks;
  std::int64_t below_bytes;
  Algorithm algorithm;
};
// Of a send/recv none: it is a message.
std::span<const Rule> rules_of(Operation operation);

struct Choice {
  Algorithm picked;  // by the rules
  Algorithm runs;    // what that one hands over to, for these ranks and this size
};
// `bytes` of a buffer as nccl-tests counts it, of float32.
Choice choose(Operation operation, int ranks, Bytes bytes);

}  // namespace ddpsim::mpi
