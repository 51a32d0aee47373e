#pragma once
// Conditions of a script: `test`, [ ], [[ ]], and patterns of `case`. None: only a running shell knows.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

// Whether the text is of that pattern of *, ? and [...], of which what is quoted stands for itself.
std::optional<bool> fits(std::string_view text, const Text& pattern);

// Of `test` and [: words without the brackets.
std::optional<bool> holds(const std::vector<Text>& words);
// Of [[, in which words after == and != are patterns, and numbers expressions.
std::optional<bool> holds_double(const std::vector<Text>& words, const Variables& variables);

// Of a command [ ... ], `test`, true or false, with ! before it; `others` is that of other commands.
std::optional<bool> status_of(std::vector<Text> words, std::optional<bool> others);

}  // namespace ddpsim::shell
