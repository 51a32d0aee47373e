#pragma once
#include <string_view>

namespace ddpsim {

enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast };

// "all_reduce"
std::string_view operation_name(Operation operation);

}  // namespace ddpsim
