#include <algorithm>

#include <fmt/core.h>

#include "sim/calibrate/readers.hpp"

namespace ddpsim::calibrate {
namespace {

const JsonValue* rows_of(const JsonValue& root) {
  const auto* rows = root.kind == JsonValue::Kind::array ? &root : root.find("rows");
  return rows && rows->kind == JsonValue::Kind::array ? rows : nullptr;
}

std::vector<Located> cells(const JsonValue& row, const std::vector<Located>& header) {
  std::vector<Located> record;
  for (const auto& column : header) {
    const auto* value = row.find(column.text);
    if (!value)
      throw InputError(row.text.span, fmt::format("no '{}' in this row", column.text),
                       "give all rows the same names");
    record.push_back(value->cell());
  }
  for (const auto& [name, value] : row.members)
    if (std::none_of(header.begin(), header.end(),
                     [&, &key = name](const auto& c) { return c.text == key.text; }))
      throw InputError(name.span, fmt::format("'{}' is not in the first row", name.text),
                       "give all rows the same names");
  return record;
}

}  // namespace

bool has_json_rows(const JsonValue& root) {
  return rows_of(root) != nullptr;
}

CsvTable json_rows(const JsonValue& root) {
  CsvTable table;
  table.source = root.text.span.file;
  for (const auto& [name, value] : root.members)
    if (root.kind == JsonValue::Kind::object && value.is_scalar())
      table.comments.push_back({name, value.cell()});
  const auto& rows = *rows_of(root);
  if (rows.members.empty()) throw InputError(rows.text.span, "no rows", "is it the right file?");
  for (const auto& [unused, row] : rows.members) {
    if (row.kind != JsonValue::Kind::object)
      throw InputError(row.text.span, "a row is not an object",
                       "write rows like {\"bytes\": 1024, \"time_us\": 20}");
    if (table.header.empty())
      for (const auto& [name, value] : row.members) table.header.push_back(name);
    if (table.header.empty())
      throw InputError(row.text.span, "a row without columns", "is it the right file?");
    table.rows.push_back(cells(row, table.header));
  }
  return table;
}

}  // namespace ddpsim::calibrate
