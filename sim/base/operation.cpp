#include "sim/base/operation.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

std::string operation_words(Operation operation) {
  std::string words(operation_name(operation));
  std::ranges::replace(words, '_', operation == Operation::send_recv ? '/' : '-');
  return words;
}

int ring_steps(Operation operation, int ranks) {
  if (operation == Operation::all_reduce) return 2 * (ranks - 1);
  bool is_half = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  return is_half ? ranks - 1 : ranks;
}

double busbw_factor(Operation operation, int ranks) {
  double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1) / n;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      return 1;
  }
  DDPSIM_CHECK(false, "every operation has a factor");
  return 1;
}

}  // namespace ddpsim
