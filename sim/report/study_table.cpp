#include "sim/report/study_table.hpp"

#include <algorithm>
#include <ostream>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostJobs = 40;

Seconds step_of(const StudyRow& row) {
  return std::get<Seconds>(row.figure("iteration_s").value);
}

bool fits(const StudyRow& row) {
  auto said = row.figure("memory_fits");
  const auto* fits = std::get_if<bool>(&said.value);
  return fits == nullptr || *fits;
}

// How long it takes for its work, so that batches of other sizes can be compared: a token, or the step.
double effort_of(const StudyRow& row) {
  auto said = row.figure("tokens_per_s");
  const auto* tokens = std::get_if<double>(&said.value);
  return tokens && *tokens > 0 ? 1 / *tokens : step_of(row).value();
}

auto rank_of(const StudyRow& row) {
  return std::tuple(!fits(row), effort_of(row), row.point);
}

struct Shown {
  const StudyRow* row;
  const StudyRow* best;
  Mark mark;
};

ShownTable table_of(const StudyHead& study, const std::vector<Shown>& rows) {
  ShownTable table;
  for (std::size_t axis = 0; axis < study.axes.size(); ++axis)
    table.add(short_title(study.axes, study.axes[axis]), rows, [axis, &study](const Shown& one) {
      auto cap = one.row->figure("bucket_cap_bytes");
      const auto* bytes = std::get_if<Bytes>(&cap.value);
      return bytes && study.axes[axis] == kBucketCapAxis ? short_text(bytes->value(), Measure::binary_bytes)
                                                         : one.row->values[axis];
    });
  auto figure = [&](const char* head, const char* key, int drop, Form form = Form::plain) {
    table.add(
        head, rows, [key](const Shown& one) { return one.row->figure(key); }, drop, form);
  };
  figure("step", "iteration_s", 0);
  table.add(
      "vs best", rows,
      [](const Shown& one) {
        return one.row == one.best ? Cell() : Cell(effort_of(*one.row) / effort_of(*one.best) - 1);
      },
      0, Form::change);
  table.add(
      "range", rows,
      [](const Shown& one) {
        auto least = one.row->figure("p10_s"), most = one.row->figure("p90_s");
        return least.is_none() || most.is_none() ? Cell() : Cell(Cell::List{least, most});
      },
      3);
  figure("tokens/s", "tokens_per_s", 1);
  figure("MFU", "mfu", 2, Form::share);
  figure("memory", "memory_peak_bytes", 4);
  figure("waits", "exposed_communication_s", 6);
  figure("buckets", "n_buckets", 8);
  for (const auto& one : rows) table.marks.push_back(one.mark);
  return table;
}

}  // namespace

std::vector<std::string> BestRows::job_of(const StudyRow& row) const {
  std::vector<std::string> job;
  for (std::size_t axis = 0; axis < study_.axes.size(); ++axis)
    if (SweepResult::is_given(study_.axes[axis])) job.push_back(row.values[axis]);
  return job;
}

void BestRows::add(const StudyRow& row) {
  ++rows_;
  if (!row.error.empty()) {
    ++failed_;
    return;
  }
  auto place = places_.try_emplace(job_of(row), jobs_.size()).first->second;
  if (place == jobs_.size()) jobs_.emplace_back();
  auto& best = jobs_[place];
  best.insert(std::ranges::upper_bound(best, rank_of(row), {}, rank_of), row);
  if (best.size() > most_) best.pop_back();
}

void BestRows::print(std::ostream& out, const Terminal& terminal) const {
  std::vector<Shown> shown;
  std::vector<std::size_t> breaks;
  std::size_t jobs = 0;
  for (const auto& rows : jobs_) {
    if (jobs++ == kMostJobs) break;
    if (!shown.empty()) breaks.push_back(shown.size());
    for (const auto& row : rows)
      shown.push_back({&row, &rows.front(),
                       !fits(row)              ? Mark::unfit
                       : &row == &rows.front() ? Mark::best
                                               : Mark::none});
  }
  auto table = shown.empty() ? ShownTable() : table_of(study_, shown);
  table.all_with = "ddpsim results csv";
  table.breaks = most_ > 1 ? breaks : std::vector<std::size_t>();
  print_shown(out, terminal, table);
  auto line = fmt::format("{} of {}", counted(rows_, "row"), counted(study_.points, "point"));
  if (failed_ > 0) line += fmt::format(", {} of them without results", failed_);
  if (jobs_.size() > kMostJobs)
    line += fmt::format("; the first {} of {} jobs are shown", kMostJobs, jobs_.size());
  out << terminal.wrapped(line, Look::dim) << '\n';
}

std::string study_csv_header(const StudyHead& study, const std::vector<std::string>& columns) {
  csv::Record record{"point"};
  record.insert(record.end(), study.axes.begin(), study.axes.end());
  record.insert(record.end(), columns.begin(), columns.end());
  record.emplace_back("error");
  return csv::line_of(record);
}

std::string study_csv_record(const StudyRow& row, const std::vector<std::string>& columns) {
  csv::Record record{fmt::format("{}", row.point)};
  record.insert(record.end(), row.values.begin(), row.values.end());
  for (const auto& key : columns) record.push_back(csv::text_of(row.figure(key)));
  record.push_back(row.error);
  return csv::line_of(record);
}

}  // namespace ddpsim
