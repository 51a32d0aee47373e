#include "sim/collective/operation.hpp"

namespace ddpsim {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::all_gather:
      return "all_gather";
    case Operation::broadcast:
      return "broadcast";
  }
  return "?";
}

}  // namespace ddpsim
