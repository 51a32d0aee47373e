#include "sim/result/json_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace ddpsim::json {
namespace {

// Cells as text, laid out as nlohmann's dump() does.
class Writer {
 public:
  // `indent` below 0: on one line.
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Cell& cell) {
    std::visit([this](const auto& value) { add(value); }, cell.value);
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::monostate) { text_ += "null"; }
  void add(bool value) { text_ += value ? "true" : "false"; }
  void add(std::int64_t value) { text_ += std::to_string(value); }
  void add(double value) {
    if (!std::isfinite(value)) return add(std::monostate());
    constexpr std::size_t kLongest = 64;
    std::array<char, kLongest> digits;
    char* end = nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end);
  }
  void add(Bytes value) { add(static_cast<std::int64_t>(value.value())); }
  void add(Seconds value) { add(value.value()); }
  void add(BytesPerSecond value) { add(value.value()); }
  void add(std::string_view value) {
    bool is_plain =
        std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
    if (is_plain)
      text_.append("\"").append(value).append("\"");
    else
      text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(const Cell::List& list) {
    add_each('[', ']', list, [this](const Cell& one) { write(one); });
  }
  void add(const Cell::Fields& fields) {
    add_each('{', '}', fields, [this](const auto& field) {
      add(field.first);
      text_ += indent_ < 0 ? ":" : ": ";
      write(field.second);
    });
  }

  template <class Parts, class Add>
  void add_each(char begin, char end, const Parts& parts, const Add& add_one) {
    text_ += begin;
    ++depth_;
    for (bool is_first = true; const auto& part : parts) {
      if (!std::exchange(is_first, false)) text_ += ',';
      break_line();
      add_one(part);
    }
    --depth_;
    if (!parts.empty()) break_line();
    text_ += end;
  }
  void break_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
  }

  int indent_, depth_ = 0;
  std::string text_;
};

std::string dumped(const Cell::Fields& fields, int indent) {
  Writer writer(indent);
  writer.write(fields);
  return writer.take() + "\n";
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
