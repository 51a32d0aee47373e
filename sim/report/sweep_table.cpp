#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/report/cap_formula.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/verdict.hpp"
#include "sim/result/iteration_columns.hpp"

namespace ddpsim {
namespace {

// A figure for people, by its key; the larger `drop`, the sooner it is left out.
struct ShownFigure {
  std::string_view key;
  const char* head;
  int drop = 0;
  Form form = Form::plain;
};
constexpr ShownFigure kBeforeMemory[] = {{"tokens_per_s_per_gpu", "tok/s/GPU", 1},
                                         {"mfu", "MFU", 2, Form::share}};
constexpr ShownFigure kAfterMemory[] = {{"scaling_efficiency", "of ideal", 5, Form::share},
                                        {"exposed_communication_s", "waits", 6},
                                        {"communication_s", "comm.", 7},
                                        {"n_buckets", "buckets", 8},
                                        {"samples_per_s", "samples/s", 9},
                                        {"median_s", "median", 3},
                                        {"p_best", "P(best)", 10, Form::share},
                                        {"measured_iteration_s", "measured"},
                                        {"relative_error", "error", 0, Form::change}};

const Column<SweepPoint>& column_of(std::string_view key) {
  static const std::map<std::string_view, const Column<SweepPoint>*> by_key = [] {
    std::map<std::string_view, const Column<SweepPoint>*> found;
    for (const auto& column : kPointColumns) found.emplace(column.key, &column);
    return found;
  }();
  return *by_key.at(key);
}

// A point with what it is compared with; a point without a result, or the time under PyTorch's default cap.
struct Row {
  const SweepPoint* point = nullptr;
  std::vector<std::string> axis_values = {};
  std::optional<Seconds> iteration = {}, best = {};
  Mark mark = Mark::none;
  std::vector<std::string> given = {};  // its values on axes that are no choice
  std::optional<Bytes> last_cap = {};   // of those that make the same buckets
};

// The best of each job: of the points that have the same values on given axes.
class Best {
 public:
  explicit Best(const SweepResult& result) : result_(result), is_given_(result.given_axes()) {
    std::map<std::vector<std::string>, std::vector<std::size_t>> jobs;
    for (std::size_t i = 0; i < result.points.size(); ++i)
      jobs[given(result.points[i].axis_values)].push_back(i);
    compares_ = std::ranges::any_of(jobs, [](const auto& job) { return job.second.size() > 1; });
    for (const auto& [job, points] : jobs) best_.emplace(job, result.best_of(points));
  }

  [[nodiscard]] std::vector<std::string> given(const std::vector<std::string>& values) const {
    std::vector<std::string> on_given;
    for (std::size_t axis = 0; axis < values.size(); ++axis)
      if (is_given_[axis]) on_given.push_back(values[axis]);
    return on_given;
  }
  [[nodiscard]] Row row_of(std::size_t i) const {
    const auto& point = result_.points[i];
    const auto& metrics = point.metrics;
    Row row{&point, point.axis_values, metrics.iteration, {}, Mark::none, given(point.axis_values)};
    auto best = best_.at(row.given);
    if (metrics.memory && metrics.memory->fit() == Fit::no) row.mark = Mark::unfit;
    if (!compares_) return row;
    row.best = result_.points[best].metrics.iteration;
    if (row.mark == Mark::none && i == best) row.mark = Mark::best;
    if (row.mark == Mark::none && is_tied(point, *row.best)) row.mark = Mark::tied;
    return row;
  }

 private:
  [[nodiscard]] static bool is_tied(const SweepPoint& point, Seconds best) {
    return point.odds ? point.odds->is_tied : point.metrics.iteration <= best * (1 + kPlateau);
  }

  const SweepResult& result_;
  std::vector<bool> is_given_;
  bool compares_ = false;
  std::map<std::vector<std::string>, std::size_t> best_;
};

bool makes_same_buckets(const Row& one, const Row& next, std::size_t cap_axis) {
  if (!one.point || !next.point || next.mark == Mark::best) return false;
  const auto &a = one.point->metrics, &b = next.point->metrics;
  auto others = one.axis_values;
  others[cap_axis] = next.axis_values[cap_axis];
  return others == next.axis_values && one.mark != Mark::best && a.bucket_cap && b.bucket_cap &&
         a.n_buckets == b.n_buckets && a.iteration == b.iteration && !next.point->measured;
}

// The default's row stands where its cap would.
void add_default(const SweepResult& result, const Best& jobs, std::vector<Row>& rows, std::size_t cap_axis) {
  if (result.with_default.size() != 1 || result.best_by_group().size() != 1) return;
  auto best = result.with_default.begin()->first;
  const auto& usual = result.with_default.begin()->second;
  auto before = std::ranges::find_if(rows, [&](const Row& row) {
    return row.point && row.point->metrics.bucket_cap && *row.point->metrics.bucket_cap > usual.cap;
  });
  Row row{nullptr, result.points[best].axis_values, usual.iteration, result.points[best].metrics.iteration};
  row.given = jobs.given(row.axis_values);
  row.axis_values[cap_axis] = "default, " + short_text(usual.cap.value(), Measure::binary_bytes);
  rows.insert(before, std::move(row));
}

std::vector<Row> rows_of(const SweepResult& result, bool is_short) {
  std::vector<Row> rows;
  Best best(result);
  auto cap_axis = result.find_axis(kBucketCapAxis);
  auto failed = result.failed.begin();
  for (std::size_t i = 0; i <= result.points.size(); ++i) {
    for (; is_short && failed != result.failed.end() && failed->before <= i; ++failed)
      rows.push_back({nullptr, failed->axis_values, {}, {}, Mark::none, best.given(failed->axis_values)});
    if (i == result.points.size()) break;
    auto row = best.row_of(i);
    if (is_short && cap_axis && !rows.empty() && makes_same_buckets(rows.back(), row, *cap_axis))
      rows.back().last_cap = row.point->metrics.bucket_cap;
    else
      rows.push_back(std::move(row));
  }
  if (is_short && cap_axis) add_default(result, best, rows, *cap_axis);
  return rows;
}

// "36.1–45.8 MiB".
std::string cap_cell(const Row& row, std::size_t axis) {
  if (!row.point) return row.axis_values[axis];
  const auto& cap = row.point->metrics.bucket_cap;
  if (!cap) return "-";
  auto first = short_text(cap->value(), Measure::binary_bytes);
  if (!row.last_cap) return first;
  auto last = short_text(row.last_cap->value(), Measure::binary_bytes);
  auto unit = first.substr(first.find(' '));
  return fmt::format("{}–{}", last.ends_with(unit) ? first.substr(0, first.find(' ')) : first, last);
}

Cell memory_cell(const Row& row) {
  const auto& memory = row.point->metrics.memory;
  if (!memory) return {};
  auto gigabytes = memory->parts.peak().value() / 1e9;
  auto sign = memory->fit() == Fit::yes ? "" : memory->fit() == Fit::maybe ? "? " : "! ";
  return fmt::format("{}{}", sign, decimal_text(gigabytes, gigabytes < 100 ? 1 : 0));
}

Cell range_cell(const std::optional<std::pair<Seconds, Seconds>>& range) {
  return range ? Cell(Cell::List{range->first, range->second}) : Cell();
}

Cell sure_cell(const Row& row) {
  const auto& sure = row.point->metrics.uncertainty;
  return sure ? range_cell(std::pair(sure->likely().least, sure->likely().most)) : Cell();
}

Cell spread_cell(const Row& row) {
  const auto& spread = row.point->metrics.spread;
  return spread ? range_cell(std::pair(spread->p5, spread->p95)) : Cell();
}

void add_figures(ShownTable& table, const std::vector<Row>& rows, std::span<const ShownFigure> figures) {
  for (const auto& figure : figures) {
    const auto& column = column_of(figure.key);
    table.add(
        figure.head, rows, [&](const Row& row) { return row.point ? column.value(*row.point) : Cell(); },
        figure.drop, figure.form);
  }
}

void print_heading(std::ostream& out, const char* text, TableStyle style) {
  out << '\n' << text << '\n' << (style == TableStyle::markdown ? "\n" : "");
}

void print_any(std::ostream& out, const Terminal& terminal, const ShownTable& table, TableStyle style) {
  style == TableStyle::markdown ? print_markdown(out, table) : print_shown(out, terminal, table);
}

// What to pass to DistributedDataParallel in each of several groups.
void print_advice(std::ostream& out, const Terminal& terminal, const SweepResult& result,
                  const std::vector<CapAdvice>& advice, TableStyle style) {
  print_heading(out, "what to pass to DistributedDataParallel", style);
  print_any(out, terminal, cap_table(result, advice), style);
}

// The first is the verdict. In Markdown lines that follow one another are one paragraph.
void print_lines(std::ostream& out, const Terminal& terminal, const std::vector<std::string>& lines,
                 TableStyle style) {
  for (const auto& line : lines) {
    if (&line == &lines.front()) out << '\n';
    out << (style == TableStyle::markdown
                ? line + "  "
                : terminal.wrapped(line, &line == &lines.front() ? Look::verdict : Look::plain))
        << '\n';
  }
}

std::vector<std::string> lines_of(const SweepResult& result, const std::vector<CapAdvice>& advice) {
  auto best_of_groups = result.best_by_group();
  auto lines = verdict_lines(result);
  std::ranges::move(formula_lines(result), std::back_inserter(lines));
  if (best_of_groups.size() != 1 || !result.compares_choices()) return lines;
  if (auto training = training_text(result.points[best_of_groups.front()].metrics); !training.empty())
    lines.push_back("the best: " + training);
  if (!advice.empty()) std::ranges::move(advice_lines(result, advice.front()), std::back_inserter(lines));
  return lines;
}

}  // namespace

ShownTable sweep_table(const SweepResult& result, bool is_short) {
  auto rows = rows_of(result, is_short);
  ShownTable table;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    bool is_cap = result.axes[axis] == kBucketCapAxis;
    table.add(short_title(result.axes, result.axes[axis]), rows,
              [&](const Row& row) { return is_cap ? cap_cell(row, axis) : row.axis_values[axis]; });
  }
  auto of_point = [](auto cell) { return [cell](const Row& row) { return row.point ? cell(row) : Cell(); }; };
  table.add("step", rows, [](const Row& row) { return Cell(row.iteration); });
  table.add(
      "vs best", rows,
      [](const Row& row) {
        return row.best && row.iteration && row.mark != Mark::best ? Cell(*row.iteration / *row.best - 1)
                                                                   : Cell();
      },
      0, Form::change);
  table.add("days", rows, of_point([](const Row& row) { return Cell(row.point->metrics.training_days()); }),
            1);
  table.add("cost", rows, of_point([](const Row& row) { return Cell(row.point->metrics.training_cost()); }),
            1);
  table.add("range", rows, of_point(sure_cell), 3);
  add_figures(table, rows, kBeforeMemory);
  table.add("GB", rows, of_point(memory_cell), 4);
  table.add("5–95 % of steps", rows, of_point(spread_cell), 2);
  add_figures(table, rows, kAfterMemory);
  for (const auto& row : rows) table.marks.push_back(row.mark);
  if (std::ranges::all_of(table.marks, [](Mark mark) { return mark == Mark::none; })) table.marks.clear();
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (!table.marks.empty() && rows[i].given != rows[i - 1].given) table.breaks.push_back(i);
  if (table.breaks.size() + 1 == rows.size()) table.breaks.clear();
  return table;
}

std::string reported_iterations(const SweepResult& result) {
  for (const auto& point : result.points)
    if (const auto& spread = point.metrics.spread)
      return fmt::format("iterations are the {} of {} (seed {}), terms those of that iteration",
                         reported_iteration_name(spread->report), spread->iterations, spread->seed);
  return "";
}

void print_sweep(std::ostream& out, const Terminal& terminal, const SweepResult& result, TableStyle style) {
  auto said = [&](const std::string& text) {
    if (!text.empty()) out << '\n' << terminal.wrapped(text) << '\n';
  };
  print_any(out, terminal, sweep_table(result, true), style);
  said(result.failed_note());
  for (const auto& line : result.failed_reasons())
    out << terminal.wrapped("- " + line, Look::plain, 2) << '\n';
  auto advice = cap_advice(result);
  if (result.best_by_group().size() > 1 && !advice.empty())
    print_advice(out, terminal, result, advice, style);
  if (!result.formulas.empty()) {
    print_heading(out, "the textbook's formula beside the simulation", style);
    print_any(out, terminal, formula_table(result), style);
  }
  print_lines(out, terminal, lines_of(result, advice), style);
  for (const auto& text : {result.trace_note(), reported_iterations(result)})
    if (!text.empty()) out << terminal.wrapped(text, Look::dim) << '\n';
}

}  // namespace ddpsim
