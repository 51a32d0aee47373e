#pragma once
// "did you mean": the candidate closest to a misspelt word.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpsim {

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours), if that is at
// most a third of the longer word's length, or if one word starts with the other; ties go to the first
// candidate.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace ddpsim
