#include "sim/trace/header_lines.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kBlank = " \t";

// What stands after the '#', without the blanks around it.
std::string comment_text(const CsvComment& comment) {
  std::string_view line = comment.key.span.file->lines[static_cast<std::size_t>(comment.key.span.line) - 1];
  line.remove_prefix(line.find('#') + 1);
  auto first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(line.substr(first, line.find_last_not_of(kBlank) - first + 1));
}

void check_key(const Located& key, std::span<const std::string> known) {
  if (std::find(known.begin(), known.end(), key.text) != known.end()) return;
  throw InputError(
      key.span, fmt::format("unknown header key '{}'{}", key.text, did_you_mean(key.text, known)),
      fmt::format("the keys are {}; a remark has no ':' after its first word", fmt::join(known, ", ")));
}

}  // namespace

bool is_remark(std::string_view text) {
  auto colon = text.find(':');
  if (colon == std::string_view::npos) return true;
  auto key = text.substr(0, colon);
  key = key.substr(0, key.find_last_not_of(kBlank) + 1);
  return key.empty() || key.find_first_of(kBlank) != std::string_view::npos;
}

const Located* HeaderLines::find(std::string_view key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

HeaderLines read_header_lines(const CsvTable& table, std::span<const std::string> known) {
  HeaderLines lines;
  for (const auto& comment : table.comments) {
    auto text = comment_text(comment);
    if (is_remark(text)) {
      if (!text.empty()) lines.remarks.push_back(std::move(text));
      continue;
    }
    check_key(comment.key, known);
    if (comment.value.text.empty())
      throw InputError(comment.key.span, fmt::format("header key '{}' has no value", comment.key.text),
                       "give it a value or remove the line");
    auto [first, inserted] = lines.values.emplace(comment.key.text, comment.value);
    if (!inserted)
      throw InputError(comment.key.span, fmt::format("header key '{}' appears twice", comment.key.text),
                       fmt::format("it is first on line {}; remove one", first->second.span.line));
  }
  return lines;
}

}  // namespace ddpsim
