#include "sim/report/preset_list.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

std::string padded(const std::string& text, std::size_t width, bool is_number) {
  return is_number ? fmt::format("{:>{}}", text, width) : fmt::format("{:<{}}", text, width);
}

}  // namespace

std::string preset_table(const std::vector<PresetRow>& rows) {
  if (rows.empty()) return "none\n";
  auto columns = rows.front().size();
  std::vector<std::size_t> widths;
  std::vector<char> is_number;
  for (std::size_t column = 0; column < columns; ++column) {
    widths.push_back(rows.front()[column].heading.size());
    is_number.push_back(true);
    for (const auto& row : rows) {
      widths.back() = std::max(widths.back(), row[column].text.size());
      if (std::holds_alternative<std::string>(row[column].value.value)) is_number.back() = false;
    }
  }
  auto line = [&](auto text_of) {
    std::string text;
    for (std::size_t column = 0; column < columns; ++column)
      text += (column > 0 ? "  " : "") + padded(text_of(column), widths[column], is_number[column] != 0);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  auto text = line([&](std::size_t column) { return rows.front()[column].heading; });
  for (const auto& row : rows) text += line([&](std::size_t column) { return row[column].text; });
  return text;
}

std::string preset_json(const std::string& kind, const std::vector<PresetRow>& rows) {
  Cell::List list;
  for (const auto& row : rows) {
    Cell::Fields preset;
    for (const auto& fact : row) preset.emplace_back(fact.key, fact.value);
    list.emplace_back(std::move(preset));
  }
  return json::text_of({{kind, list}});
}

}  // namespace ddpsim
