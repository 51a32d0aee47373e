#include "sim/report/step_comparison_table.hpp"

#include <ostream>

#include <fmt/format.h>

#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

std::string number_or_dash(const std::optional<std::int64_t>& number) {
  return number ? fmt::format("{}", *number) : "-";
}

std::string words_of(const std::optional<ProfiledCollective>& one) {
  return one ? fmt::format("{} of {}", one->operation, number_or_dash(one->elements)) : "nothing";
}

void print_step_collectives(std::ostream& out, const StepComparison& all) {
  out << fmt::format("{:<16}{:>14}{:>8}{:>10}{:>10}\n", "collective", "elements", "ranks", "recorded",
                     "profiled");
  for (const auto& [what, count] : all.collectives)
    out << fmt::format("{:<16}{:>14}{:>8}{:>10}{:>10}{}\n", what.operation, number_or_dash(what.elements),
                       number_or_dash(what.ranks), count.recorded, count.profiled,
                       count.recorded == count.profiled ? "" : "  *");
  if (all.collectives.empty()) out << "none\n";
  if (all.has_same_order())
    out << fmt::format("all {} in the same order\n", all.in_order);
  else
    out << fmt::format("alike until number {}: there {} is recorded, and {} profiled\n", all.in_order + 1,
                       words_of(all.recorded_next), words_of(all.profiled_next));
}

void print_step_operators(std::ostream& out, const StepComparison& all) {
  constexpr double kToMs = 1e3;
  out << fmt::format("\n{:<16}{:>10}{:>10}", "operators", "recorded", "profiled");
  if (all.has_kernels) out << fmt::format("{:>16}{:>14}", "predicted ms", "kernels ms");
  out << '\n';
  for (const auto& [name, count] : all.classes) {
    out << fmt::format("{:<16}{:>10}{:>10}", name, count.recorded, count.profiled);
    if (all.has_kernels)
      out << fmt::format("{:>16.3f}{:>14.3f}", kToMs * count.recorded_time.value(),
                         kToMs * count.profiled_time.value());
    out << '\n';
  }
}

void print_only(std::ostream& out, std::string_view where, const std::vector<StepComparison::Operators>& all,
                bool has_time) {
  if (all.empty()) return;
  out << fmt::format("\nonly {}\n", where);
  for (const auto& [name, count] : all) {
    out << fmt::format("  {} ({} x", name, count.recorded + count.profiled);
    if (has_time)
      out << fmt::format(", {:.3f} ms", 1e3 * (count.recorded_time + count.profiled_time).value());
    out << ")\n";
  }
}

Cell::List rows_of(const std::vector<StepComparison::Operators>& all) {
  Cell::List rows;
  for (const auto& [name, count] : all)
    rows.emplace_back(Cell::Fields{{"name", name},
                                   {"recorded", count.recorded},
                                   {"profiled", count.profiled},
                                   {"recorded_s", count.recorded_time},
                                   {"profiled_s", count.profiled_time}});
  return rows;
}

}  // namespace

void print_step_comparison(std::ostream& out, const StepComparison& comparison) {
  print_step_collectives(out, comparison);
  print_step_operators(out, comparison);
  print_only(out, "in the recording", comparison.only_recorded, comparison.has_kernels);
  print_only(out, "in the profile", comparison.only_profiled, comparison.has_kernels);
}

std::string step_comparison_json(const StepComparison& comparison, const ToolInfo& tool) {
  Cell::List collectives;
  for (const auto& [what, count] : comparison.collectives)
    collectives.emplace_back(Cell::Fields{{"operation", what.operation},
                                          {"elements", what.elements},
                                          {"ranks", what.ranks},
                                          {"recorded", count.recorded},
                                          {"profiled", count.profiled}});
  return json::text_of({{"collectives", collectives},
                        {"alike_in_order", comparison.in_order},
                        {"same_order", comparison.has_same_order()},
                        {"classes", rows_of(comparison.classes)},
                        {"only_recorded", rows_of(comparison.only_recorded)},
                        {"only_profiled", rows_of(comparison.only_profiled)},
                        {"has_kernels", comparison.has_kernels},
                        {"tool", json::tool(tool)}});
}

}  // namespace ddpsim
