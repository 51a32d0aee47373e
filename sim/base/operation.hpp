#pragma once
// What a group of ranks does together, by NCCL's names: the one list for schedules, costs and NCCL's tuner.
#include <string>

#include "sim/base/names.hpp"

namespace ddpsim {

enum class Operation { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv };
inline constexpr Names<Operation, 7> kOperationNames{{{"all_reduce", Operation::all_reduce},
                                                      {"all_gather", Operation::all_gather},
                                                      {"reduce_scatter", Operation::reduce_scatter},
                                                      {"broadcast", Operation::broadcast},
                                                      {"reduce", Operation::reduce},
                                                      {"all_to_all", Operation::all_to_all},
                                                      {"send_recv", Operation::send_recv}}};

// Whether ranks send to one another directly, without a ring or tree.
constexpr bool sends_directly(Operation operation) {
  return operation == Operation::all_to_all || operation == Operation::send_recv;
}

// Whether data goes from or to rank 0 along a ring cut open.
constexpr bool is_chain(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce;
}

// Steps of a ring: 2 (n-1) to all-reduce, n-1 to gather or scatter, n of a chain that is filled and drained
// (NCCL's tuning.cc: nsteps). In each a rank sends an n-th of the buffer.
int ring_steps(Operation operation, int ranks);

// busbw / algbw, as nccl-tests defines it (doc/PERFORMANCE.md).
double busbw_factor(Operation operation, int ranks);

// "reduce-scatter", as text says it.
std::string operation_words(Operation operation);

inline std::string_view operation_name(Operation operation) {
  return name_in(kOperationNames, operation);
}

}  // namespace ddpsim
