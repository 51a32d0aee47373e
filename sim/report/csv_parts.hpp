#pragma once
// What the CSVs of several results have in common.
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/columns.hpp"

namespace ddpsim::csv {

using Record = std::vector<std::string>;

void append(Record& record, const Record& more);
std::string line_of(const Record& fields);  // quoted where they must be

std::string text_of(const Cell& cell);  // of no list

template <class Row>
Record header(const Columns<Row>& columns) {
  Record record;
  for (const auto& column : columns) record.emplace_back(column.key);
  return record;
}
template <class Row>
Record record(const Columns<Row>& columns, const Row& row) {
  Record record;
  for (const auto& column : columns) record.push_back(text_of(column.value(row)));
  return record;
}
// A line a row under a header.
template <class Row>
std::string table(const Columns<Row>& all, const std::vector<Row>& rows) {
  auto columns = columns_in_csv(all, rows);
  auto text = line_of(header(columns));
  for (const auto& row : rows) text += line_of(record(columns, row));
  return text;
}

// The column of a result that says an axis' value already; empty: none does.
std::string_view result_column(std::string_view axis);
// The axes, or their values, that no such column says.
Record other_axes(const std::vector<std::string>& axes, const std::vector<std::string>& of_each);

}  // namespace ddpsim::csv
