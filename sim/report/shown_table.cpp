#include "sim/report/shown_table.hpp"

#include <algorithm>
#include <ostream>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/figures.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kGap = 2;
constexpr double kWidestInOneUnit = 100;  // a column that spans more gives each cell its own

// A cell's numbers: one, or the two of a range; none of a word.
struct Numbers {
  Measure measure = Measure::number;
  bool is_count = false;
  std::vector<double> values;
};

void add_number(const Cell& cell, Form form, Numbers& numbers) {
  if (const auto* time = std::get_if<Seconds>(&cell.value)) {
    numbers.measure = Measure::time;
    numbers.values.push_back(time->value());
  } else if (const auto* bytes = std::get_if<Bytes>(&cell.value)) {
    numbers.measure = form == Form::binary ? Measure::binary_bytes : Measure::bytes;
    numbers.values.push_back(bytes->value());
  } else if (const auto* bandwidth = std::get_if<BytesPerSecond>(&cell.value)) {
    numbers.measure = Measure::bandwidth;
    numbers.values.push_back(bandwidth->value());
  } else if (const auto* number = std::get_if<double>(&cell.value)) {
    numbers.values.push_back(*number);
  } else if (const auto* count = std::get_if<std::int64_t>(&cell.value)) {
    numbers.is_count = true;
    numbers.values.push_back(static_cast<double>(*count));
  } else if (const auto* list = std::get_if<Cell::List>(&cell.value)) {
    for (const auto& one : *list) add_number(one, form, numbers);
  }
}

// How all of a column's numbers are written.
struct Writing {
  Measure measure = Measure::number;
  Unit unit;
  int decimals = 0;
  bool each_its_own = false;
  Form form = Form::plain;

  [[nodiscard]] std::string text(double value) const {
    if (form == Form::change) return fmt::format("{:+.{}f}", 100 * value + 0.0, decimals);
    if (form == Form::share) return decimal_text(100 * value, decimals);
    if (each_its_own) return short_text(value, measure);
    auto text = decimal_text(value / unit.size, decimals);
    return measure == Measure::number ? fmt::format("{}{}", text, unit.name) : text;
  }
  [[nodiscard]] std::string title(const std::string& head) const {
    std::string_view name = form == Form::share || form == Form::change  ? "%"
                            : measure == Measure::number || each_its_own ? ""
                                                                         : unit.name;
    if (name.empty()) return head;
    return head.empty() ? std::string(name) : fmt::format("{} {}", head, name);
  }
};

Writing writing_of(const ShownColumn& column) {
  Numbers numbers;
  for (const auto& cell : column.cells) add_number(cell, column.form, numbers);
  Writing writing{numbers.measure, {}, 0, false, column.form};
  if (numbers.values.empty()) {
    writing.unit.name = "";
  } else if (column.form != Form::plain && column.form != Form::binary) {
    writing.decimals = 1;
  } else if (!numbers.is_count) {
    auto [least, most] = std::ranges::minmax(numbers.values);
    writing.unit = unit_of(numbers.measure, numbers.values);
    writing.each_its_own = least > 0 && most > kWidestInOneUnit * least;
    for (auto& value : numbers.values) value /= writing.unit.size;
    writing.decimals = decimals_of(numbers.values);
  }
  return writing;
}

// Both ends of ranges stand below one another.
std::string range_text(const Cell::List& range, const Writing& writing, std::size_t width) {
  std::vector<std::string> ends;
  Numbers numbers;
  for (const auto& end : range) add_number(end, writing.form, numbers);
  for (double value : numbers.values) ends.push_back(writing.text(value));
  if (ends.size() != 2) return "";
  return fmt::format("{}–{}", to_right(ends[0], width), ends[1]);
}

std::string cell_text(const Cell& cell, const Writing& writing, std::size_t width_of_least) {
  if (cell.is_none()) return "";
  if (const auto* word = std::get_if<std::string>(&cell.value)) return *word;
  if (const auto* said = std::get_if<bool>(&cell.value)) return *said ? "yes" : "no";
  if (const auto* range = std::get_if<Cell::List>(&cell.value))
    return range_text(*range, writing, width_of_least);
  Numbers numbers;
  add_number(cell, writing.form, numbers);
  return writing.text(numbers.values.at(0));
}

ShownText::OfColumn text_of_column(const ShownColumn& column) {
  auto writing = writing_of(column);
  std::size_t width_of_least = 0;
  for (const auto& cell : column.cells)
    if (const auto* range = std::get_if<Cell::List>(&cell.value); range && !range->empty())
      width_of_least = std::max(width_of_least, cell_text(range->front(), writing, 0).size());
  ShownText::OfColumn text{writing.title(column.head), {}, {}, column.is_left};
  for (const auto& cell : column.cells) {
    Numbers numbers;
    add_number(cell, column.form, numbers);
    text.cells.push_back(cell_text(cell, writing, width_of_least));
    text.numbers.push_back(numbers.values.empty() ? std::nullopt : std::optional(numbers.values.front()));
  }
  return text;
}

std::size_t width_of(const ShownText::OfColumn& column) {
  auto width = display_width(column.title);
  for (const auto& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

bool is_empty(const ShownColumn& column) {
  return std::ranges::all_of(column.cells, [](const Cell& cell) {
    const auto* word = std::get_if<std::string>(&cell.value);
    return cell.is_none() || (word && word->empty());
  });
}

std::vector<ShownColumn> with_something(const ShownTable& table) {
  auto columns = table.columns;
  bool has_rows = !columns.empty() && !columns.front().cells.empty();
  if (has_rows) std::erase_if(columns, is_empty);
  return columns;
}

std::string_view sign_of(Mark mark) {
  switch (mark) {
    case Mark::best:
      return "▶ ";
    case Mark::tied:
      return "≈ ";
    case Mark::unfit:
      return "! ";
    case Mark::none:
      break;
  }
  return "  ";
}

Look look_of(Mark mark) {
  return mark == Mark::best ? Look::best : mark == Mark::unfit ? Look::dim : Look::plain;
}

std::string line_of(const std::vector<ShownText::OfColumn>& columns, auto text_of_one) {
  std::string line;
  for (const auto& column : columns) {
    const auto& text = text_of_one(column);
    if (!line.empty() || &column != &columns.front()) line += std::string(kGap, ' ');
    line += column.is_left ? to_left(text, width_of(column)) : to_right(text, width_of(column));
  }
  auto end = line.find_last_not_of(' ');
  return line.substr(0, end == std::string::npos ? 0 : end + 1);
}

std::size_t length_of(const std::vector<ShownText::OfColumn>& texts) {
  std::size_t all = kGap * (texts.size() - 1);
  for (const auto& text : texts) all += width_of(text);
  return all;
}

// Leaves columns out until a line has so much room, and returns their heads in the order they stood in.
std::vector<std::string> leave_out(std::vector<ShownColumn>& columns, std::vector<ShownText::OfColumn>& texts,
                                   std::size_t room) {
  std::vector<std::pair<std::size_t, std::string>> left_out;
  std::vector<std::size_t> places(columns.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  while (length_of(texts) > room) {
    auto worst = std::ranges::max_element(columns, {}, &ShownColumn::drop);
    if (worst->drop == 0) break;
    auto at = worst - columns.begin();
    left_out.emplace_back(places[static_cast<std::size_t>(at)], worst->head);
    columns.erase(worst);
    texts.erase(texts.begin() + at);
    places.erase(places.begin() + at);
  }
  std::ranges::sort(left_out);
  std::vector<std::string> heads;
  for (auto& [place, head] : left_out)
    if (!head.empty()) heads.push_back(std::move(head));
  return heads;
}

}  // namespace

ShownText text_of(const ShownTable& table) {
  ShownText text;
  for (const auto& column : with_something(table)) text.columns.push_back(text_of_column(column));
  return text;
}

void print_shown(std::ostream& out, const Terminal& terminal, const ShownTable& table) {
  auto columns = with_something(table);
  if (columns.empty()) return;
  auto texts = text_of(table).columns;
  auto in = table.marks.empty() ? std::string_view() : sign_of(Mark::none);
  std::vector<std::string> left_out;
  if (terminal.width)
    left_out = leave_out(columns, texts, *terminal.width - std::min(*terminal.width, in.size()));
  // Of the last, whose words may go on below.
  auto begin = in.size() + length_of(texts) - width_of(texts.back());
  if (terminal.width) begin = std::min(begin, *terminal.width / 2);
  auto titles = line_of(texts, [](const auto& text) { return text.title; });
  out << terminal.shown(fmt::format("{}{}", in, titles), Look::dim) << '\n';
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    auto mark = table.marks.empty() ? Mark::none : table.marks[row];
    auto line = line_of(texts, [&](const auto& text) { return text.cells[row]; });
    if (std::ranges::find(table.breaks, row) != table.breaks.end()) out << '\n';
    line = fmt::format("{}{}", table.marks.empty() ? "" : sign_of(mark), line);
    out << (terminal.width && display_width(line) > *terminal.width
                ? terminal.wrapped(line, look_of(mark), begin)
                : terminal.shown(line, look_of(mark)))
        << '\n';
  }
  if (!left_out.empty())
    out << terminal.wrapped(fmt::format("not shown at {} columns: {} ({} has all)", *terminal.width,
                                        fmt::join(left_out, ", "), table.all_with),
                            Look::dim)
        << '\n';
}

void print_markdown(std::ostream& out, const ShownTable& table) {
  auto texts = text_of(table).columns;
  auto row = [&](auto text_of_one) {
    std::vector<std::string> cells;
    for (const auto& text : texts) cells.push_back(to_right(text_of_one(text), width_of(text)));
    out << fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  auto marked = [&](std::size_t i) {
    return table.marks.empty()            ? std::string_view()
           : table.marks[i] == Mark::none ? ""
                                          : sign_of(table.marks[i]);
  };
  row([](const auto& text) { return text.title; });
  for (const auto& text : texts) out << fmt::format("|{:->{}}:", "", width_of(text) + 1);
  out << "|\n";
  for (std::size_t i = 0; !texts.empty() && i < texts.front().cells.size(); ++i)
    row([&](const auto& text) {
      return &text == &texts.front() ? fmt::format("{}{}", marked(i), text.cells[i]) : text.cells[i];
    });
}

}  // namespace ddpsim
