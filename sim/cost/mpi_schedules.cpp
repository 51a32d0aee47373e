#include "sim/cost/mpi_schedules.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/collective/rounds.hpp"

namespace ddpsim {
namespace {

using Mpi = mpi::Algorithm;

Rounds knomial_of_four(int ranks) {
  return knomial_rounds(ranks, 4);  // coll_tuned_bcast_decision.c: coll_tuned_bcast_knomial_radix
}
// A rank's subtree follows it: what Open MPI calls the in-order binomial tree.
Rounds in_order_binomial(int ranks) {
  return knomial_rounds(ranks, 2);
}
template <Rounds (*broadcast)(int)>
Rounds reduced(int ranks) {
  return mirrored(broadcast(ranks), true);
}
Rounds gather_rounds(int ranks) {
  return mirrored(scatter_rounds(ranks), false);
}
Rounds halving_gather_rounds(int ranks) {
  auto rounds = halving_rounds(ranks);
  std::ranges::move(gather_rounds(ranks), std::back_inserter(rounds));
  return rounds;
}

struct Built {
  Operation operation;
  Mpi algorithm;
  Rounds (*rounds)(int ranks);
};
constexpr std::array kBuilt{
    Built{Operation::all_reduce, Mpi::recursive_doubling, doubling_all_reduce_rounds},
    Built{Operation::all_gather, Mpi::recursive_doubling, doubling_all_gather_rounds},
    Built{Operation::all_gather, Mpi::bruck, bruck_all_gather_rounds},
    Built{Operation::all_gather, Mpi::neighbor_exchange, neighbor_exchange_rounds},
    Built{Operation::all_gather, Mpi::pairwise, doubling_all_gather_rounds},  // of two
    Built{Operation::reduce_scatter, Mpi::recursive_halving, halving_rounds},
    Built{Operation::broadcast, Mpi::linear, linear_rounds},
    Built{Operation::broadcast, Mpi::chain, chain_rounds},
    Built{Operation::broadcast, Mpi::binary, binary_rounds},
    Built{Operation::broadcast, Mpi::binomial, binomial_rounds},
    Built{Operation::broadcast, Mpi::knomial, knomial_of_four},
    Built{Operation::broadcast, Mpi::scatter_allgather, scatter_all_gather_rounds},
    Built{Operation::reduce, Mpi::linear, reduced<linear_rounds>},
    Built{Operation::reduce, Mpi::chain, reduced<chain_rounds>},
    Built{Operation::reduce, Mpi::binary, reduced<binary_rounds>},
    Built{Operation::reduce, Mpi::binomial, reduced<in_order_binomial>},
    Built{Operation::reduce, Mpi::rabenseifner, halving_gather_rounds},
    Built{Operation::all_to_all, Mpi::pairwise, pairwise_rounds},
    Built{Operation::all_to_all, Mpi::bruck, bruck_all_to_all_rounds},
    Built{Operation::gather, Mpi::binomial, gather_rounds},
    Built{Operation::scatter, Mpi::binomial, scatter_rounds}};

void check_messages(Operation operation, Mpi algorithm, int ranks) {
  constexpr int kMostRanks = 1024;
  bool is_many = is_exchange(operation) || algorithm == Mpi::neighbor_exchange;
  if (!is_many || ranks <= kMostRanks) return;
  throw InputError(fmt::format("{} of {} ranks with MPI's algorithm {} has more messages than are counted",
                               operation_words(operation), ranks, mpi::traits_of(algorithm).name),
                   fmt::format("use at most {} ranks", kMostRanks));
}

}  // namespace

MpiTiming mpi_timing(Operation operation, mpi::Algorithm algorithm) {
  if (operation == Operation::reduce_scatter && algorithm == Mpi::recursive_doubling)
    return {Mpi::recursive_halving, "recursive halving's"};
  const auto& traits = mpi::traits_of(algorithm);
  return {traits.timed_as, traits.is_the_same ? std::string_view() : traits.why};
}

bool is_in_two(Operation operation, mpi::Algorithm algorithm) {
  return algorithm == Mpi::nonoverlapping ||
         (operation == Operation::reduce_scatter && algorithm == Mpi::linear);
}

std::string_view mpi_time_is(Operation operation, int ranks, Bytes bytes) {
  auto runs = mpi::choose(operation, ranks, bytes).runs;
  if (!is_in_two(operation, runs)) return mpi_timing(operation, runs).time_is;
  auto reduced = mpi_time_is(Operation::reduce, ranks, bytes);
  if (!reduced.empty() || operation != Operation::all_reduce) return reduced;
  return mpi_time_is(Operation::broadcast, ranks, bytes);
}

CollectiveSchedule mpi_schedule(Operation operation, mpi::Algorithm algorithm, const Wiring& wiring) {
  check_messages(operation, algorithm, wiring.ranks);
  if (algorithm == Mpi::linear && sends_directly(operation)) return direct(operation, wiring);
  if (algorithm == Mpi::ring) {
    std::vector<int> in_order(static_cast<std::size_t>(wiring.ranks));
    std::iota(in_order.begin(), in_order.end(), 0);
    return ring(operation, wiring, {in_order});
  }
  if (operation == Operation::all_reduce && algorithm == Mpi::rabenseifner) return halving_doubling(wiring);
  const auto* built = std::ranges::find_if(
      kBuilt, [&](const Built& one) { return one.operation == operation && one.algorithm == algorithm; });
  DDPSIM_CHECK(built != kBuilt.end(), "a schedule for every algorithm that the rules name");
  return in_rounds(std::string(mpi::traits_of(algorithm).name), operation, wiring,
                   built->rounds(wiring.ranks));
}

}  // namespace ddpsim
