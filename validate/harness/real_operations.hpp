#pragma once
// What ranks of a real run can do together; both backends have these.
#include <algorithm>
#include <array>

#include "sim/base/operation.hpp"

namespace ddpsim::validate {

inline constexpr std::array kRealOperations{Operation::all_reduce, Operation::all_gather,
                                            Operation::reduce_scatter};
constexpr bool is_real(Operation operation) {
  return std::ranges::find(kRealOperations, operation) != kRealOperations.end();
}

}  // namespace ddpsim::validate
