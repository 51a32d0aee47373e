#include "sim/base/suggest.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "sim/base/letter_case.hpp"

namespace ddpsim {
namespace {

// Optimal string alignment distance (Damerau-Levenshtein without repeated edits of one substring).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 100;
  if (word.size() > kLongestWord || word.empty()) return std::nullopt;
  auto wanted = lower_case(word);
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& candidate : candidates) {
    bool prefix = candidate.size() >= 3 && word.size() >= 3 &&
                  (candidate.starts_with(word) || word.starts_with(candidate));
    auto distance = prefix ? 1 : edit_distance(wanted, lower_case(candidate));
    if (distance * 3 > std::max(word.size(), candidate.size())) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  auto best = closest(word, candidates);
  return best ? fmt::format("; did you mean '{}'?", *best) : std::string();
}

}  // namespace ddpsim
