#include "sim/cli/scenario_options.hpp"

#include <csignal>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/version.hpp"
#include "sim/config/overrides.hpp"
#include "sim/engine/closed_form/closed_form.hpp"
#include "sim/engine/simgrid/simgrid_simulator.hpp"

namespace ddpsim::cli {
namespace {

void mask_interrupts(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(how, &signals, nullptr);
}

}  // namespace

CLI::Option* add_output(CLI::App& command, const std::string& option, std::string& path,
                        const std::string& description) {
  return command.add_option(option, path, description)
      ->type_name("PATH")
      ->check([](const std::string& given) { return std::string(given.empty() ? "needs a file name" : ""); });
}

void ScenarioOptions::add_to(CLI::App& command) {
  command.add_option("FILE", file, "Scenario file (YAML)")->required();
  command
      .add_option("--set", overrides,
                  "Override a scenario key: key.path=value; removes its sweep axis (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_output(command, "--json", json, "Write the result as JSON; '-' is standard output")
      ->type_name("PATH|-");
  add_output(command, "--csv", csv, "Write the result as CSV; '-' is standard output")->type_name("PATH|-");
  command.add_flag("--quiet", quiet, "No summary and no notes");
}

config::Value ScenarioOptions::load() const {
  auto root = config::load_yaml(file, "a scenario");
  for (const auto& assignment : overrides) config::apply_override(root, assignment);
  return root;
}

void ScenarioOptions::check_outputs() const {
  if (json == "-" && csv == "-")
    throw InputError("--json - and --csv - both want standard output", "write one of them to a file");
  if (!json.empty() && json != "-") check_writable(json, "--json");
  if (!csv.empty() && csv != "-") check_writable(csv, "--csv");
}

void write_output(const std::string& destination, const std::string& text) {
  if (destination.empty()) return;
  if (destination == "-")
    std::cout << text;
  else
    write_whole_file(destination, text);
}

OutputPhase::OutputPhase() {
  mask_interrupts(SIG_BLOCK);
}
OutputPhase::~OutputPhase() {
  mask_interrupts(SIG_UNBLOCK);
}

Simulator& simulator_for(const Scenario& scenario) {
  static ClosedFormSimulator closed_form;
  static SimGridSimulator simgrid;
  if (scenario.fidelity == Fidelity::closed_form) return closed_form;
  return simgrid;
}

IterationContext context_of(const Scenario& scenario) {
  return {*scenario.trace, scenario.plan, scenario.world_size, scenario.algorithm(),
          std::string(fidelity_name(scenario.fidelity))};
}

IterationMetrics metrics_of(const Scenario& scenario, const Timeline& timeline) {
  return measure(timeline, context_of(scenario));
}

ToolInfo tool_info() {
  return {kVersion, simgrid_version()};
}

void warn_if_slow(std::span<const Scenario> scenarios) {
  constexpr double kManyFlows = 1e7;
  double flows = 0;
  for (const auto& scenario : scenarios) {
    if (scenario.fidelity != Fidelity::exact) continue;
    for (const auto& stage : scenario.schedule->stages)
      for (const auto& ring : stage.rings)
        flows += static_cast<double>(ring.edges.size() * scenario.plan.buckets.size()) * stage.steps;
  }
  if (flows > kManyFlows)
    fmt::print(
        stderr,
        "note: fidelity exact simulates {:.0f} million flows one by one; folded gives the same much sooner\n",
        flows / 1e6);
}

void report_repairs(const Scenario& scenario) {
  if (!scenario.measured_cost) return;
  auto repaired = scenario.measured_cost->repaired_points();
  if (repaired.empty()) return;
  std::vector<std::string> changes;
  for (const auto& point : repaired)
    changes.push_back(fmt::format("{} {} -> {}", format_bytes(point.bytes), format_seconds(point.measured),
                                  format_seconds(point.time)));
  fmt::print(
      stderr,
      "note: {} of {} measured all-reduce times fall with size; they were pooled so that none does: {}\n",
      repaired.size(), scenario.measured_cost->points().size(), fmt::join(changes, ", "));
}

}  // namespace ddpsim::cli
