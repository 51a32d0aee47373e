#include "sim/report/preset_list.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/report/json_parts.hpp"

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
      if (std::holds_alternative<std::string>(row[column].value)) is_number.back() = false;
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
  json::Json all;
  auto& list = all[kind] = json::Json::array();
  for (const auto& row : rows) {
    auto& preset = list.emplace_back();
    for (const auto& fact : row) {
      auto& value = preset[fact.key];
      if (const auto* number = std::get_if<std::int64_t>(&fact.value))
        value = *number;
      else if (const auto* real = std::get_if<double>(&fact.value))
        value = *real;
      else if (const auto* text = std::get_if<std::string>(&fact.value))
        value = *text;
      else
        value = nullptr;
    }
  }
  return json::text_of(all);
}

}  // namespace ddpsim
