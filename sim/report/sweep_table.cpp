#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

// The last part of a key says enough, unless another axis ends in the same word.
std::string short_title(const std::vector<AxisValues>& axes, const std::string& key) {
  auto last_part = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  auto same = std::count_if(axes.begin(), axes.end(),
                            [&](const auto& axis) { return last_part(axis.key) == last_part(key); });
  return same > 1 ? key : last_part(key);
}

// Wide enough for whatever format_bytes writes: "1023.9 KiB".
constexpr std::size_t kCapWidth = 10;

std::string cap_text(const IterationMetrics& metrics) {
  return metrics.bucket_cap ? format_bytes(*metrics.bucket_cap) : "-";
}

std::string axis_text(const std::string& axis, const SweepPoint& point, std::size_t i) {
  return axis == kBucketCapAxis ? cap_text(point.metrics) : point.axis_values.at(i);
}

std::string ms_text(Seconds time) {
  return fmt::format("{:.3f}", time.value() * 1e3);
}

// As written, so that it can be typed back: "ddp.bucket_cap 104970241B (100.1 MiB), strategy ddp".
std::string point_name(const SweepResult& result, const SweepPoint& point) {
  std::string name;
  for (std::size_t i = 0; i < result.axes.size(); ++i) {
    const auto& written = point.axis_values[i];
    name += fmt::format("{}{} {}", i == 0 ? "" : ", ", result.axes[i], written);
    const auto& cap = point.metrics.bucket_cap;
    if (result.axes[i] == kBucketCapAxis && cap && written == fmt::format("{:.0f}B", cap->value()))
      name += fmt::format(" ({})", format_bytes(*cap));
  }
  return name;
}

// Which world size or workload is shorter is no advice: those are given, the rest is chosen.
bool compares_choices(const SweepResult& result) {
  return std::none_of(result.axes.begin(), result.axes.end(), [](const std::string& axis) {
    return axis.starts_with("cluster.") || axis.starts_with("workload.");
  });
}

}  // namespace

SweepTable::SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, bool with_measured)
    : out_(out), with_measured_(with_measured) {
  for (const auto& axis : axes) {
    axes_.push_back(axis.key);
    Column column{short_title(axes, axis.key), 0};
    column.width = column.title.size();
    if (axis.key == kBucketCapAxis)
      column.width = std::max(column.width, kCapWidth);
    else
      for (const auto& value : axis.values) column.width = std::max(column.width, value.size());
    columns_.push_back(std::move(column));
  }
  for (const char* title : {"iteration ms", "exposed ms", "comm. ms"}) columns_.push_back({title, 12});
  columns_.push_back({"buckets", 7});
  columns_.push_back({"samples/s", 10});
  columns_.push_back({"efficiency", 10});
  if (with_measured_) {
    columns_.push_back({"measured ms", 12});
    columns_.push_back({"error", 8});
  }
}

void SweepTable::print(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    out_ << fmt::format("{}{:>{}}", i == 0 ? "" : "  ", cells[i], columns_[i].width);
  out_ << '\n' << std::flush;  // a row is news while the next point still runs
}

void SweepTable::header() {
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  print(titles);
}

std::vector<std::string> SweepTable::cells(const SweepPoint& point) const {
  const auto& m = point.metrics;
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < axes_.size(); ++i) cells.push_back(axis_text(axes_[i], point, i));
  for (auto time : {m.iteration, m.exposed_communication, m.communication}) cells.push_back(ms_text(time));
  cells.push_back(fmt::format("{}", m.n_buckets));
  cells.push_back(m.samples_per_s ? fmt::format("{:.5g}", *m.samples_per_s) : "-");
  cells.push_back(m.scaling_efficiency ? fmt::format("{:.1f} %", 100 * *m.scaling_efficiency) : "-");
  if (with_measured_) {
    cells.push_back(point.measured ? ms_text(point.measured->iteration) : "-");
    cells.push_back(point.measured ? fmt::format("{:+.1f} %", 100 * relative_error(m, *point.measured))
                                   : "-");
  }
  return cells;
}

void SweepTable::row(const SweepPoint& point) {
  print(cells(point));
}

void SweepTable::footer(const SweepResult& result) {
  auto best_of_groups = result.best_by_group();
  if (best_of_groups.size() > 1) {
    out_ << "\nbest of each group\n";
    header();
    for (auto best : best_of_groups) row(result.points[best]);
  }
  if (!compares_choices(result)) return;
  const auto& best = result.points[result.best()];
  auto worst = best.metrics.iteration;
  for (const auto& point : result.points) worst = std::max(worst, point.metrics.iteration);
  out_ << fmt::format("\nbest: {}{}iteration {}", point_name(result, best), result.axes.empty() ? "" : ", ",
                      format_seconds(best.metrics.iteration));
  if (best_of_groups.size() == 1 && worst > best.metrics.iteration * 1.0005)
    out_ << fmt::format(", {:.1f} % shorter than the longest", 100 * (1 - best.metrics.iteration / worst));
  out_ << '\n' << std::flush;
}

}  // namespace ddpsim
