#pragma once
// Modules by the names of their tensors: "model.layers.3.mlp" of "model.layers.3.mlp.up_proj.weight".
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

// The innermost module of the tensor that has one of these names; empty: none has. `*` stands for anything
// within a part of a name, and a name for the last parts of a module's: "layers.*", "lm_head". `is_known`: by
// name, set where it is a module's.
std::string_view named_module_of(std::string_view tensor, const std::vector<std::string>& names,
                                 std::vector<bool>& is_known);

}  // namespace ddpsim
