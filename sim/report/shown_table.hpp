#pragma once
// A table for people: what its columns hold, which of them are left out where a line is too short, and which
// rows are marked.
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/terminal.hpp"
#include "sim/result/columns.hpp"

namespace ddpsim {

// How a number is written: as it is, as a share of one in %, as a change in % with its sign; bytes as KiB and
// MiB.
enum class Form { plain, share, change, binary };

// A mark never needs colour: ▶ best, ≈ not told apart from it, ! does not fit.
enum class Mark { none, best, tied, unfit };

struct ShownColumn {
  std::string head;
  std::vector<Cell> cells;  // one a row: a word, a number, a time, bytes, or a list of two, from and to
  int drop = 0;             // the largest is left out first; 0: never
  Form form = Form::plain;
  bool is_left = false;  // its text on the left
};

struct ShownTable {
  std::vector<ShownColumn> columns;
  std::vector<Mark> marks = {};          // one a row; none: no row is marked
  std::string all_with = "--csv -";      // what shows the columns that a line has no room for
  std::vector<std::size_t> breaks = {};  // rows with a blank line before them

  template <class Row>
  void add(std::string head, const std::vector<Row>& rows, auto value, int drop = 0, Form form = Form::plain,
           bool is_left = false) {
    ShownColumn column{std::move(head), {}, drop, form, is_left};
    for (const auto& row : rows) column.cells.emplace_back(std::invoke(value, row));
    columns.push_back(std::move(column));
  }
};

// Its text: a title with the column's unit, and cells. Columns without anything in them are not there.
struct ShownText {
  struct OfColumn {
    std::string title;
    std::vector<std::string> cells;
    std::vector<std::optional<double>> numbers;  // of them, to sort by; of a range its first
    bool is_left;
  };
  std::vector<OfColumn> columns;
};
ShownText text_of(const ShownTable& table);

// In the terminal's width: columns are left out until a row fits, and the last line names them.
void print_shown(std::ostream& out, const Terminal& terminal, const ShownTable& table);
void print_markdown(std::ostream& out, const ShownTable& table);

}  // namespace ddpsim
