#include "sim/report/sweep_html.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/html_page.hpp"
#include "sim/report/sweep_table.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/verdict.hpp"

namespace ddpsim {
namespace {

// Along an axis values are in the order in which they are swept, caps in that of their sizes.
std::optional<double> axis_key(const AxisValues& axis, const std::string& value, const SweepPoint& point) {
  if (axis.key == kBucketCapAxis)
    return point.metrics.bucket_cap ? std::optional(point.metrics.bucket_cap->value()) : std::nullopt;
  auto found = std::find(axis.values.begin(), axis.values.end(), value);
  return static_cast<double>(found - axis.values.begin());
}

html::Table page_table(const ShownTable& table) {
  html::Table page;
  for (const auto& column : text_of(table).columns) {
    page.titles.push_back(column.title);
    page.rows.resize(column.cells.size());
    for (std::size_t i = 0; i < column.cells.size(); ++i)
      page.rows[i].cells.push_back({column.cells[i], column.numbers[i]});
  }
  return page;
}

// Every point. Rows without results are behind the others, with a column for their errors.
html::Table points_table(const SweepResult& result, const std::vector<AxisValues>& axes) {
  auto page = page_table(sweep_table(result, false));
  auto best = result.best_by_group();
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    auto& row = page.rows[i];
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      row.cells[axis].key = axis_key(axes[axis], result.points[i].axis_values[axis], result.points[i]);
    row.is_marked = result.compares_choices() && std::find(best.begin(), best.end(), i) != best.end();
  }
  if (result.failed.empty()) return page;
  page.titles.emplace_back("why not");
  for (auto& row : page.rows) row.cells.emplace_back();
  for (const auto& point : result.failed) {
    html::Row row;
    for (const auto& value : point.axis_values) row.cells.push_back({value});
    while (row.cells.size() + 1 < page.titles.size()) row.cells.push_back({"-"});
    row.cells.push_back({point.reason()});
    page.rows.push_back(std::move(row));
  }
  return page;
}

std::string pictures(const SweepResult& result) {
  auto axis = line_axis(result);
  if (!axis) return html::picture(svg(bar_chart(result)), "What each iteration is made of");
  auto out = html::picture(svg(line_chart(result, *axis)),
                           fmt::format("Iteration time along {}", result.axes[*axis]));
  if (!result.find_axis(kBucketCapAxis)) return out;
  SweepResult best = result;
  best.points.clear();
  for (auto i : result.best_by_group()) best.points.push_back(result.points[i]);
  return out + html::picture(svg(bar_chart(best)), best.points.size() == 1
                                                       ? "What the best iteration is made of"
                                                       : "What the best iteration of each group is made of");
}

// What makes the interval of the best point wide.
std::string tornado(const SweepResult& result) {
  const auto& point = result.points[result.best()];
  if (!point.metrics.uncertainty) return {};
  auto name = point_name(result.axes, point.axis_values, point.metrics);
  return html::heading("How sure the best iteration is") +
         html::paragraph(fmt::format("{}{}80 % sure: {} to {}. If only one part were in doubt:", name,
                                     name.empty() ? "" : ", ",
                                     format_seconds(point.metrics.uncertainty->likely().least),
                                     format_seconds(point.metrics.uncertainty->likely().most))) +
         html::picture(svg(width_chart(*point.metrics.uncertainty, result.title)),
                       "What makes the interval of the best iteration wide");
}

// As a shell takes it.
std::string shell_quoted(const std::string& word) {
  auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-_./", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Everything that somebody needs to get the same page again.
std::string origin(const SweepReport& report) {
  auto command = "ddpsim sweep " + shell_quoted(report.scenario.file);
  for (const auto& set : report.scenario.set) command += " --set " + shell_quoted(set);
  for (const auto& option : report.options) command += " " + shell_quoted(option);
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
  auto best = verdict_lines(result);
  for (const auto& line : {reported_iterations(result), result.trace_note()})
    if (!line.empty()) best.push_back(line);
  auto caps = page_table(cap_table(result, cap_advice(result)));
  if (!best.empty() || !caps.rows.empty()) body += html::heading("Which is best") + html::list(best);
  if (!caps.rows.empty())
    body += html::paragraph("What to pass to DistributedDataParallel:") + html::table(caps);
  body += pictures(result) + tornado(result);
  const auto& best_point = result.points[result.best()];
  if (!report.explanation.empty())
    body += html::heading("What bounds the shortest iteration, and what would change it") +
            html::paragraph(point_name(result.axes, best_point.axis_values, best_point.metrics)) +
            html::as_typed(report.explanation);
  body += html::heading("Every point");
  auto points = points_table(result, axes);
  points.is_sortable = true;
  if (auto note = result.failed_note(); !note.empty()) body += html::paragraph(note);
  if (auto hints = result.failed_reasons(); !hints.empty()) body += html::list(hints);
  body += html::paragraph("A click on a title sorts by it.") + html::table(points);
  std::vector<std::string> notes;
  for (const auto& note : result.notes) notes.push_back(note.text);
  if (!notes.empty()) body += html::heading("What to know of these numbers") + html::list(notes);
  return html::page(result.title, body + origin(report));
}

}  // namespace ddpsim
