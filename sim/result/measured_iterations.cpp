#include "sim/result/measured_iterations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

const std::vector<std::string> kColumns{"iteration_s",      "iteration_std_s", "tail_s",    "communication_s",
                                        "bucket_cap_bytes", "strategy",        "world_size"};

void check_columns(const CsvTable& table) {
  for (const auto& column : table.header)
    if (std::find(kColumns.begin(), kColumns.end(), column.text) == kColumns.end())
      throw InputError(column.span,
                       fmt::format("unknown column '{}'{}", column.text, did_you_mean(column.text, kColumns)),
                       fmt::format("a table of measured iterations has {}", fmt::join(kColumns, ", ")));
}

double positive_number(const Located& text, double highest) {
  double value = parse_number(text, 0, highest);
  if (value <= 0) throw InputError(text.span, "must be more than zero", "leave out what was not measured");
  return value;
}

// Also "8.0": what pandas writes for a column of whole numbers with gaps.
double whole_number(const Located& text, double highest) {
  double value = positive_number(text, highest);
  if (value != std::floor(value))
    throw InputError(text.span, fmt::format("'{}' is not a whole number", text.text), "check the column");
  return value;
}

std::string strategy_field(const Located& text) {
  auto names = strategies_that([](const auto& one) { return one.all_reduces; });
  if (std::find(names.begin(), names.end(), text.text) == names.end())
    throw InputError(text.span,
                     fmt::format("unknown strategy '{}'{}", text.text, did_you_mean(text.text, names)),
                     fmt::format("one of {}", fmt::join(names, ", ")));
  return text.text;
}

MeasuredIteration read_row(const CsvTable& table, const std::vector<Located>& row) {
  auto given = [&](std::string_view name) -> const Located* {
    auto column = table.find_column(name);
    return column && !row[*column].text.empty() ? &row[*column] : nullptr;
  };
  MeasuredIteration measured;
  const Located& iteration = row[table.column("iteration_s")];
  if (iteration.text.empty())
    throw InputError(iteration.span, "no iteration time", "remove the row or measure it");
  measured.iteration = Seconds(positive_number(iteration, kLongestDuration.value()));
  if (auto text = given("iteration_std_s"))
    measured.spread = Seconds(parse_number(*text, 0, kLongestDuration.value()));
  if (auto text = given("tail_s")) measured.tail = Seconds(parse_number(*text, 0, kLongestDuration.value()));
  if (auto text = given("communication_s"))
    measured.communication = Seconds(positive_number(*text, measured.iteration.value()));
  if (auto text = given("bucket_cap_bytes"))
    measured.bucket_cap = Bytes(whole_number(*text, kLargestByteCount.value() - 1));
  if (auto text = given("strategy")) measured.strategy = strategy_field(*text);
  if (auto text = given("world_size"))
    measured.world_size = static_cast<int>(whole_number(*text, kLargestWorldSize));
  return measured;
}

// "# run_set: NAME" before the columns.
std::optional<std::string> run_set_of(const CsvTable& table) {
  for (const auto& comment : table.comments)
    if (comment.key.text == "run_set") return comment.value.text;
  return std::nullopt;
}

bool same_run(const MeasuredIteration& a, const MeasuredIteration& b) {
  return std::tie(a.strategy, a.world_size, a.bucket_cap) == std::tie(b.strategy, b.world_size, b.bucket_cap);
}

bool has_no_caps(const MeasuredIteration& row) {
  return row.strategy && *row.strategy != usual_strategy().name();
}

bool matches(const MeasuredIteration& row, const IterationMetrics& metrics) {
  if (!agrees_but_for_cap(row, metrics)) return false;
  return !row.bucket_cap || has_no_caps(row) || row.bucket_cap == metrics.bucket_cap;
}

int columns_given(const MeasuredIteration& row) {
  return int{row.strategy.has_value()} + int{row.world_size.has_value()} + int{row.bucket_cap.has_value()};
}

}  // namespace

std::vector<MeasuredIteration> read_measured_iterations(const std::string& path) {
  auto table = read_csv(path, "a table of measured iterations");
  check_columns(table);
  static_cast<void>(table.column("iteration_s"));
  if (table.rows.empty())
    throw InputError(whole_file(table.source), "has a header but no rows", "add one row a measured run");
  std::vector<MeasuredIteration> measured;
  for (const auto& row : table.rows) {
    auto entry = read_row(table, row);
    entry.run_set = run_set_of(table);
    auto twin = std::find_if(measured.begin(), measured.end(),
                             [&](const auto& other) { return same_run(entry, other); });
    if (twin != measured.end()) {
      auto first = table.rows[static_cast<std::size_t>(twin - measured.begin())].front().span.line;
      throw InputError(row.front().span, fmt::format("the same run as in line {}", first),
                       "give the mean as iteration_s and the spread as iteration_std_s");
    }
    measured.push_back(std::move(entry));
  }
  return measured;
}

bool agrees_but_for_cap(const MeasuredIteration& row, const IterationMetrics& metrics) {
  return (!row.strategy || *row.strategy == metrics.strategy->name()) &&
         (!row.world_size || *row.world_size == metrics.world_size);
}

std::optional<MeasuredIteration> matching(const std::vector<MeasuredIteration>& measured,
                                          const IterationMetrics& metrics) {
  const MeasuredIteration* best = nullptr;
  for (const auto& row : measured)
    if (matches(row, metrics) && (!best || columns_given(row) > columns_given(*best))) best = &row;
  return best ? std::optional(*best) : std::nullopt;
}

}  // namespace ddpsim
