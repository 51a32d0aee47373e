#pragma once
// What a group of ranks does together, by NCCL's names: one row an operation, for schedules, costs, NCCL's
// tuner and real runs.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/names.hpp"

namespace ddpsim {

enum class Operation {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv
};

// How much of the buffer the rank with the least of it holds, before or after.
enum class BufferShare { whole, part, nothing };
// Whether data comes from one rank, rank 0, or goes to it.
enum class Root { none, from, to };

struct OperationTraits {
  Operation operation;
  std::string_view name, words;  // in files and options; in sentences
  BufferShare least;
  bool reduces;    // adds up what the ranks contribute
  bool is_direct;  // ranks send to one another, without a ring or tree
  Root root;
};
inline constexpr std::array kOperations{
    OperationTraits{Operation::all_reduce, "all_reduce", "all-reduce", BufferShare::whole, true, false,
                    Root::none},
    OperationTraits{Operation::all_gather, "all_gather", "all-gather", BufferShare::part, false, false,
                    Root::none},
    OperationTraits{Operation::reduce_scatter, "reduce_scatter", "reduce-scatter", BufferShare::part, true,
                    false, Root::none},
    OperationTraits{Operation::broadcast, "broadcast", "broadcast", BufferShare::nothing, false, false,
                    Root::from},
    OperationTraits{Operation::reduce, "reduce", "reduce", BufferShare::nothing, true, false, Root::to},
    OperationTraits{Operation::all_to_all, "all_to_all", "all-to-all", BufferShare::part, false, true,
                    Root::none},
    OperationTraits{Operation::gather, "gather", "gather", BufferShare::part, false, true, Root::to},
    OperationTraits{Operation::scatter, "scatter", "scatter", BufferShare::part, false, true, Root::from},
    OperationTraits{Operation::send_recv, "send_recv", "send/recv", BufferShare::nothing, false, true,
                    Root::none}};

constexpr const OperationTraits& traits_of(Operation operation) {
  return kOperations.at(static_cast<std::size_t>(operation));
}
static_assert(has_each_in_order(kOperations, &OperationTraits::operation, Operation::send_recv));

inline constexpr auto kOperationNames = [] {
  Names<Operation, kOperations.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {kOperations[i].name, kOperations[i].operation};
  return names;
}();
constexpr std::string_view operation_name(Operation operation) {
  return traits_of(operation).name;
}
inline std::string operation_words(Operation operation) {
  return std::string(traits_of(operation).words);
}
std::vector<std::string> operation_names();
std::optional<Operation> find_operation(std::string_view name);

// Whether ranks send to one another directly, without a ring or tree.
constexpr bool sends_directly(Operation operation) {
  return traits_of(operation).is_direct;
}
// Whether every rank sends to every other.
constexpr bool is_exchange(Operation operation) {
  const auto& traits = traits_of(operation);
  return traits.is_direct && traits.root == Root::none && traits.least == BufferShare::part;
}
// Whether rank 0 sends each other rank a part, or gets one from each.
constexpr bool is_fan(Operation operation) {
  return traits_of(operation).is_direct && traits_of(operation).root != Root::none;
}
// Whether one rank sends and one receives.
constexpr bool is_pair(Operation operation) {
  return traits_of(operation).is_direct && traits_of(operation).least == BufferShare::nothing;
}
// Whether data goes from or to rank 0 along a ring cut open.
constexpr bool is_chain(Operation operation) {
  return !traits_of(operation).is_direct && traits_of(operation).least == BufferShare::nothing;
}
// Whether each rank has a part of the buffer, before or after.
constexpr bool is_in_parts(Operation operation) {
  return traits_of(operation).least == BufferShare::part;
}
// Whether one rank, rank 0, sends or receives everything.
constexpr bool is_rooted(Operation operation) {
  return traits_of(operation).root != Root::none;
}
constexpr bool reduces(Operation operation) {
  return traits_of(operation).reduces;
}

// Steps of a ring: 2 (n-1) to all-reduce, n-1 where each rank has a part, n of a chain that is filled and
// drained (NCCL's tuning.cc: nsteps). In each a rank sends an n-th of the buffer.
constexpr int ring_steps(Operation operation, int ranks) {
  auto least = traits_of(operation).least;
  return least == BufferShare::nothing ? ranks : (least == BufferShare::whole ? 2 : 1) * (ranks - 1);
}

// busbw / algbw, as nccl-tests defines it (doc/PERFORMANCE.md): 2 (n-1)/n, (n-1)/n, 1.
constexpr double busbw_factor(Operation operation, int ranks) {
  return 1.0 * ring_steps(operation, ranks) / ranks;
}

// Its time relative to a ring all-reduce's of at least two ranks, where nothing else is known.
constexpr double share_of_all_reduce(Operation operation, int ranks) {
  return 1.0 * ring_steps(operation, ranks) / ring_steps(Operation::all_reduce, ranks);
}

}  // namespace ddpsim
