#include "sim/mpi/decision.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim::mpi {
namespace {

// coll_base_allreduce.c: rings of fewer elements than ranks. coll_base_allgather.c: recursive doubling of no
// power of two, neighbours of an odd number.
Algorithm handed_over(Algorithm picked, Operation operation, int ranks, Bytes bytes) {
  constexpr double kFloat32 = 4;
  bool is_ring = picked == Algorithm::ring || picked == Algorithm::segmented_ring;
  if (operation == Operation::all_reduce && is_ring && bytes.value() < kFloat32 * ranks)
    return Algorithm::recursive_doubling;
  if (operation != Operation::all_gather) return picked;
  if (picked == Algorithm::recursive_doubling && !std::has_single_bit(static_cast<unsigned>(ranks)))
    return Algorithm::bruck;
  if (picked == Algorithm::neighbor_exchange && ranks % 2 != 0) return Algorithm::ring;
  return picked;
}

}  // namespace

Choice choose(Operation operation, int ranks, Bytes bytes) {
  auto rules = rules_of(operation);
  double counted = is_in_parts(operation) ? bytes.value() / ranks : bytes.value();
  auto rule = std::ranges::find_if(rules, [&](const Rule& one) {
    return ranks < one.below_ranks && counted < static_cast<double>(one.below_bytes);
  });
  DDPSIM_CHECK(rule != rules.end(), "the last rule holds for any ranks and bytes");
  return {rule->algorithm, handed_over(rule->algorithm, operation, ranks, bytes)};
}

}  // namespace ddpsim::mpi
