#pragma once
// $((...)) and ((...)) of a script.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

// Whole numbers, octal and hexadecimal ones too, with + - * / % and parentheses; a name is a variable's.
// None: a name that nobody knows, whose name is put into `unknown`, or what is none of this.
std::optional<std::int64_t> evaluate(std::string_view expression, const Variables& variables,
                                     std::string& unknown);

// Of ((...)): whether it is not 0, or a comparison of two such holds. None: as of evaluate().
std::optional<bool> compared(std::string_view expression, const Variables& variables);

// The variable that it sets ("TP*=2", "TP++"); empty: it sets none.
std::string set_by(std::string_view expression);

}  // namespace ddpsim::shell
