#include "sim/report/sweep_html.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/process/external_program.hpp"
#include "sim/report/html_page.hpp"
#include "sim/report/plot.hpp"
#include "sim/report/plot_kinds.hpp"
#include "sim/report/sweep_table.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

constexpr double kPlateau = 0.005;  // caps within this much of the best count as equally good

// "12.3 %" is sorted by 12.3; a text that begins otherwise by itself.
std::optional<double> leading_number(const std::string& text) {
  const char* begin = text.c_str() + (text.starts_with('+') ? 1 : 0);
  double number = 0;
  auto [end, error] = std::from_chars(begin, text.c_str() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// Along an axis values are in the order in which they are swept, caps in that of their sizes.
std::optional<double> axis_key(const AxisValues& axis, const std::string& value, const SweepPoint& point) {
  if (axis.key == kBucketCapAxis)
    return point.metrics.bucket_cap ? std::optional(point.metrics.bucket_cap->value()) : std::nullopt;
  auto found = std::find(axis.values.begin(), axis.values.end(), value);
  return static_cast<double>(found - axis.values.begin());
}

html::Table table_of(const SweepResult& result, const std::vector<AxisValues>& axes,
                     const std::vector<std::size_t>& points) {
  auto optional = columns_of(result);
  auto best = result.best_by_group();
  html::Table table;
  for (const auto& column : sweep_columns(axes, optional)) table.titles.push_back(column.title);
  for (auto i : points) {
    const auto& point = result.points[i];
    html::Row row;
    for (const auto& text : sweep_cells(result.axes, optional, point)) {
      auto column = row.cells.size();
      row.cells.push_back({text, column < axes.size()
                                     ? axis_key(axes[column], point.axis_values[column], point)
                                     : leading_number(text)});
    }
    row.is_marked = result.compares_choices() && std::find(best.begin(), best.end(), i) != best.end();
    table.rows.push_back(std::move(row));
  }
  return table;
}

// As DistributedDataParallel takes it: the shortest number of MiB of which so many bytes are made.
std::string bucket_cap_mb(Bytes cap) {
  for (double parts = 1; parts <= 1e6; parts *= 10) {
    double mb = std::ceil(cap.value() / 0x1p20 * parts) / parts;
    if (std::floor(mb * 0x1p20) == cap.value()) return fmt::format("{:.10g}", mb);
  }
  return fmt::format("{}", cap.value() / 0x1p20);
}

// "244.1 MiB to 499.9 MiB": the swept caps around the best one of a group that are as good.
std::string plateau(const SweepResult& result, std::vector<std::size_t> group, std::size_t best) {
  auto cap_of = [&](std::size_t point) { return *result.points[point].metrics.bucket_cap; };
  std::erase_if(group, [&](std::size_t point) { return !result.points[point].metrics.bucket_cap; });
  std::stable_sort(group.begin(), group.end(), [&](auto a, auto b) { return cap_of(a) < cap_of(b); });
  auto is_as_good = [&](std::size_t point) {
    return result.points[point].metrics.iteration <= result.points[best].metrics.iteration * (1 + kPlateau);
  };
  auto first = std::find(group.begin(), group.end(), best), last = first;
  while (first != group.begin() && is_as_good(*(first - 1))) --first;
  while (last + 1 != group.end() && is_as_good(*(last + 1))) ++last;
  auto text = fmt::format("{} to {}", format_bytes(cap_of(*first)), format_bytes(cap_of(*last)));
  bool is_at_an_end = group.size() > 1 && (group.front() == best || group.back() == best);
  return text + (is_at_an_end ? ", at the end of what was swept" : "");
}

// What to pass to PyTorch, how little that matters around it, and what its own default costs.
html::Table cap_table(const SweepResult& result, const SweepReport& report) {
  auto axis = result.find_axis(kBucketCapAxis);
  html::Table table{{"", "bucket_cap_mb", "iteration ms", fmt::format("caps within {} %", 100 * kPlateau),
                     "PyTorch's default", "iteration ms", "longer"},
                    {}};
  if (!axis) return table;
  for (const auto& group : result.groups(axis)) {
    auto best = result.best_of(group.points);
    const auto& metrics = result.points[best].metrics;
    if (metrics.strategy != Strategy::ddp || !metrics.bucket_cap) continue;
    html::Row row{{{group.name},
                   {bucket_cap_mb(*metrics.bucket_cap)},
                   {ms_text(metrics.iteration)},
                   {plateau(result, group.points, best)}}};
    if (auto usual = report.with_default.find(best); usual != report.with_default.end()) {
      const auto& first = usual->second.first;
      row.cells.push_back({format_bytes(usual->second.cap) +
                           (first ? fmt::format(" (first {})", format_bytes(*first)) : "")});
      row.cells.push_back({ms_text(usual->second.iteration)});
      row.cells.push_back({percent_text(usual->second.iteration / metrics.iteration - 1)});
    } else {
      row.cells.resize(table.titles.size(), {"-"});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string pictures(const SweepResult& result) {
  auto draw = [](const std::string& script) { return run_program(gnuplot(), script); };
  auto axis = line_axis(result);
  if (!axis)
    return html::picture(draw(bar_plot_script(result, PlotFormat::svg)), "What each iteration is made of");
  auto out = html::picture(draw(line_plot_script(result, *axis, PlotFormat::svg)),
                           fmt::format("Iteration time along {}", result.axes[*axis]));
  SweepResult best = result;
  best.points.clear();
  for (auto i : result.best_by_group()) best.points.push_back(result.points[i]);
  if (!result.find_axis(kBucketCapAxis)) return out;
  return out + html::picture(draw(bar_plot_script(best, PlotFormat::svg)),
                             best.points.size() == 1 ? "What the best iteration is made of"
                                                     : "What the best iteration of each group is made of");
}

std::string lost_points(const SweepResult& result) {
  if (result.lost.empty()) return "";
  std::vector<std::string> lines;
  for (const auto& point : result.lost)
    lines.push_back(fmt::format("{}: {}", fmt::join(point.axis_values, ", "), point.why));
  return html::heading("Points that are missing") + html::paragraph(result.lost_note()) + html::list(lines);
}

// As a shell takes it.
std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Everything that somebody needs to get the same page again.
std::string origin(const SweepReport& report) {
  auto command = "ddpsim sweep " + report.scenario.file;
  for (const auto& set : report.scenario.set) command += " --set " + shell_quoted(set);
  html::Table inputs{{"file", "bytes", "SHA-256"}, {}};
  for (const auto& file : report.inputs)
    inputs.rows.push_back({{{file.path}, {fmt::format("{}", file.bytes)}, {file.sha256}}});
  return html::heading("What it was made of") +
         html::as_typed(
             fmt::format("{}\nddpsim {}, SimGrid {}\n", command, report.tool.version, report.tool.simgrid)) +
         html::table(inputs);
}

}  // namespace

std::string sweep_html(const SweepResult& result, const SweepReport& report) {
  const auto& axes = report.scenario.axes;
  std::string what = result.axes.empty() ? "" : fmt::format(" along {}", fmt::join(result.axes, ", "));
  auto body = html::paragraph(fmt::format("{} simulated training iterations{}", result.points.size(), what));
  auto best = best_lines(result, columns_of(result).range);
  if (!best.empty()) std::rotate(best.begin(), best.end() - 1, best.end());  // the best itself first
  for (const auto& line : {reported_iterations(result), result.trace_note()})
    if (!line.empty()) best.push_back(line);
  auto caps = cap_table(result, report);
  if (!best.empty() || !caps.rows.empty()) body += html::heading("Which is best") + html::list(best);
  if (!caps.rows.empty())
    body += html::paragraph("What to pass to DistributedDataParallel:") + html::table(caps);
  if (auto groups = result.best_by_group(); groups.size() > 1) {
    auto table = table_of(result, axes, groups);
    for (auto& row : table.rows) row.is_marked = false;
    body += html::paragraph("The best of each group:") + html::table(table);
  }
  body += pictures(result);
  const auto& best_point = result.points[result.best()];
  if (!report.explanation.empty())
    body += html::heading("What bounds the shortest iteration, and what would change it") +
            html::paragraph(point_name(result.axes, best_point.axis_values, best_point.metrics)) +
            html::as_typed(report.explanation);
  body += html::heading("Every point");
  std::vector<std::size_t> all(result.points.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  auto points = table_of(result, axes, all);
  points.is_sortable = true;
  body += html::paragraph("A click on a title sorts by it.") + html::table(points) + lost_points(result);
  std::vector<std::string> notes;
  for (const auto& note : result.notes) notes.push_back(note.text);
  if (!notes.empty()) body += html::heading("What to know of these numbers") + html::list(notes);
  return html::page(result.title, body + origin(report));
}

}  // namespace ddpsim
