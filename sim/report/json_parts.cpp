#include "sim/report/json_parts.hpp"

#include <nlohmann/json.hpp>

namespace ddpsim::json {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::same_as<T, Cell::List>) {
          auto list = Json::array();
          for (const auto& one : value) list.push_back(json_of(one));
          return list;
        } else if constexpr (std::same_as<T, Cell::Fields>) {
          auto object = Json::object();
          for (const auto& [key, one] : value) object[std::string(key)] = json_of(one);
          return object;
        } else if constexpr (std::same_as<T, Bytes>) {
          return static_cast<std::int64_t>(value.value());
        } else if constexpr (requires { value.value(); }) {
          return value.value();
        } else {
          return value;
        }
      },
      cell.value);
}

std::string dumped(const Cell::Fields& fields, int indent) {
  return json_of(fields).dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void append(Cell::Fields& fields, const Cell::Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
}

Cell::Fields axes(const std::vector<std::string>& axes, const std::vector<std::string>& values) {
  Cell::Fields all;
  for (std::size_t i = 0; i < axes.size(); ++i) all.emplace_back(axes[i], values.at(i));
  return all;
}

Cell::Fields scenario(const ScenarioInfo& scenario) {
  Cell::Fields axes;
  for (const auto& axis : scenario.axes) axes.emplace_back(axis.key, axis.values);
  return {{"file", scenario.file}, {"set", scenario.set}, {"axes", axes}};
}

Cell::List notes(const std::vector<Note>& notes) {
  return fields_of_each(Columns<Note>{{"code", &Note::code}, {"text", &Note::text}}, notes);
}

Cell::Fields tool(const ToolInfo& tool) {
  return {{"version", tool.version}, {"simgrid", tool.simgrid}};
}

std::string text_of(const Cell::Fields& fields) {
  return dumped(fields, 2);
}

std::string line_of(const Cell::Fields& fields) {
  return dumped(fields, -1);
}

}  // namespace ddpsim::json
