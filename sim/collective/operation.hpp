#pragma once
#include "sim/base/names.hpp"

namespace ddpsim {

enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast };
inline constexpr Names<Operation, 4> kOperationNames{{{"all_reduce", Operation::all_reduce},
                                                      {"reduce_scatter", Operation::reduce_scatter},
                                                      {"all_gather", Operation::all_gather},
                                                      {"broadcast", Operation::broadcast}}};

inline std::string_view operation_name(Operation operation) {
  return name_in(kOperationNames, operation);
}

}  // namespace ddpsim
