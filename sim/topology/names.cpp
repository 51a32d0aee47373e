#include "sim/topology/names.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "sim/base/suggest.hpp"

namespace ddpsim {

std::optional<int> number_after(std::string_view word, std::string_view text) {
  if (!text.starts_with(word)) return std::nullopt;
  auto digits = text.substr(word.size());
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  int number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::vector<LinkEnds> possible_ends(const std::string& name) {
  std::vector<LinkEnds> all;
  for (char sign : {'>', '-'})
    for (auto at = name.find(sign); at != std::string::npos; at = name.find(sign, at + 1))
      all.push_back({name.substr(0, at), name.substr(at + 1), sign == '-'});
  return all;
}

bool is_device_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void throw_unknown_link(const std::string& name, const SourceSpan& place,
                        const std::vector<std::string>& candidates, std::string_view hint) {
  throw InputError(place, fmt::format("there is no link '{}'{}", name, did_you_mean(name, candidates)), hint);
}

}  // namespace ddpsim
