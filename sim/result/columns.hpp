#pragma once
// What results say, as lists of columns: a figure has its key, value and unit in one row, whoever writes it.
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// A figure, a word, nothing, a list, or something with figures of its own.
struct Cell {
  using List = std::vector<Cell>;
  using Fields = std::vector<std::pair<std::string_view, Cell>>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Seconds, Bytes, BytesPerSecond, List,
               Fields>
      value;

  Cell() = default;
  Cell(const Cell& other);
  Cell(Cell&& other) noexcept;
  Cell& operator=(const Cell& other);
  Cell& operator=(Cell&& other) noexcept;
  ~Cell();
  template <class T>
  Cell(const T& given) {
    if constexpr (requires { given.has_value(); }) {
      if (given) *this = Cell(*given);
    } else if constexpr (std::same_as<T, bool>) {
      value = given;
    } else if constexpr (std::integral<T>) {
      value = static_cast<std::int64_t>(given);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      value = std::string(std::string_view(given));
    } else if constexpr (requires { value = given; }) {
      value = given;
    } else if constexpr (requires { given.value(); }) {
      value = given.value();
    } else {
      value = List(given.begin(), given.end());
    }
  }
  [[nodiscard]] bool is_none() const { return value.index() == 0; }
};

// Where a column is: in JSON, and there null where a row has nothing to say, or left out; in CSV, and there
// empty, or left out where no row has anything to say; in a study's rows, where it has something to say; or
// only in tables for people.
enum In : unsigned {
  kTables = 0,
  kJson = 1,
  kCsv = 2,
  kSomeJson = 5,
  kSomeCsv = 10,
  kSome = kSomeJson | kSomeCsv,
  kStudy = 16
};
constexpr bool has(unsigned in, In wanted) {
  return (in & wanted) == wanted;
}

template <class Row>
struct Column {
  std::string_view key;
  std::function<Cell(const Row&)> value;
  unsigned in = kJson | kCsv;
};
template <class Row>
using Columns = std::vector<Column<Row>>;

// A column of something that not every row has.
template <class Row, class Part>
std::function<Cell(const Row&)> of(std::optional<Part> Row::*part,
                                   std::type_identity_t<std::function<Cell(const Part&)>> value) {
  return [part, value](const Row& row) { return row.*part ? value(*(row.*part)) : Cell(); };
}

// What JSON has of a row.
template <class Row>
Cell::Fields fields(const Columns<Row>& columns, const Row& row) {
  Cell::Fields all;
  for (const auto& column : columns)
    if (has(column.in, kJson))
      if (auto cell = column.value(row); !cell.is_none() || !has(column.in, kSomeJson))
        all.emplace_back(column.key, std::move(cell));
  return all;
}
template <class Rows, class Row>
Cell::List fields_of_each(const Columns<Row>& columns, const Rows& rows) {
  Cell::List all;
  for (const auto& row : rows) all.emplace_back(fields(columns, row));
  return all;
}

// What a row of a study has.
template <class Row>
Cell::Fields study_fields(const Columns<Row>& columns, const Row& row) {
  Cell::Fields all;
  for (const auto& column : columns)
    if (has(column.in, kStudy))
      if (auto cell = column.value(row); !cell.is_none()) all.emplace_back(column.key, std::move(cell));
  return all;
}

// What CSV has of some rows.
template <class Row>
Columns<Row> columns_in_csv(Columns<Row> columns, const std::vector<Row>& rows) {
  std::erase_if(columns, [&](const Column<Row>& column) {
    if (!has(column.in, kCsv)) return true;
    return has(column.in, kSomeCsv) &&
           std::ranges::all_of(rows, [&](const Row& row) { return column.value(row).is_none(); });
  });
  return columns;
}

}  // namespace ddpsim
