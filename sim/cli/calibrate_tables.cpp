#include "sim/cli/calibrate_tables.hpp"

#include <iostream>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/calibrate/calibration_file.hpp"
#include "sim/calibrate/calibration_json.hpp"
#include "sim/cli/measurements.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/report/bandwidth_plot.hpp"
#include "sim/report/plot.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::JudgedTable;
using Machine = std::vector<Measured>;

constexpr double kWorstFit = 0.5, kBestEfficiency = 1.4;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (char c : list) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<Machine> load_machines(const std::vector<std::string>& lists, const Topology& topology,
                                   const MeasuredOptions& options) {
  std::vector<Machine> machines;
  for (const auto& list : lists) {
    auto& machine = machines.emplace_back();
    for (const auto& selection : split(list))
      for (auto& measured : load_measured(selection, topology, options))
        machine.push_back(std::move(measured));
  }
  return machines;
}

std::vector<calibrate::Measurement> measurements_of(const Machine& machine) {
  std::vector<calibrate::Measurement> measurements;
  for (const auto& measured : machine) measurements.push_back(measured.measurement);
  return measurements;
}

nccl::Calibration fit(const std::vector<Machine>& machines, const nccl::Calibration& known) {
  std::vector<nccl::Calibration> fitted;
  for (const auto& machine : machines)
    fitted.push_back(calibrate::fit_machine(measurements_of(machine), known));
  return calibrate::average(fitted);
}

JudgedTable judged_table(const Measured& measured, bool fitted, calibrate::Judgement judgement) {
  const auto& m = measured.measurement;
  return {m.table.title, m.ranks, m.nodes, m.shape.large_algorithm(), fitted, std::move(judgement)};
}

std::vector<JudgedTable> judge_all(const nccl::Calibration& calibration, const std::vector<Machine>& machines,
                                   bool fitted) {
  std::vector<JudgedTable> tables;
  for (const auto& machine : machines)
    for (const auto& measured : machine)
      tables.push_back(judged_table(measured, fitted, judge_with(calibration, measured)));
  return tables;
}

// Each machine by itself: fitted to every other size, judged on the rest, both ways round.
std::vector<JudgedTable> judge_every_other(const std::vector<Machine>& machines,
                                           const nccl::Calibration& known) {
  std::vector<JudgedTable> tables;
  for (const auto& machine : machines)
    for (bool first : {true, false}) {
      Machine half;
      for (const auto& measured : machine) half.push_back(every_other(measured, first));
      auto calibration = fit({half}, known);
      for (const auto& measured : machine) {
        auto rest = every_other(measured, !first);
        tables.push_back(judged_table(rest, false, judge_with(calibration, rest)));
      }
    }
  return tables;
}

void print_curves(const nccl::Calibration& calibration) {
  fmt::print("{:<12}{:<13}{:>15}{:>12}{:>12}\n", "curve", "", "latency scale", "efficiency", "ramp");
  for (const auto& entry : calibration.entries)
    fmt::print("{:<12}{:<13}{:>15.3g}{:>12.3g}{:>12}\n", nccl::name(entry.algorithm),
               entry.across_nodes ? "across nodes" : "in a node", entry.curve.latency_scale,
               entry.curve.efficiency, format_seconds(entry.curve.ramp));
}

void print_tables(const std::vector<JudgedTable>& tables) {
  fmt::print("\n{:>5}{:>6}{:>6}  {:<10}{:>11}{:>8}  {}\n", "GPUs", "nodes", "rows", "curve", "mean error",
             "worst", "table");
  for (const auto& table : tables)
    fmt::print("{:>5}{:>6}{:>6}  {:<10}{:>9.1f} %{:>6.0f} %  {}{}\n", table.ranks, table.nodes,
               table.judgement.points.size(), nccl::name(table.algorithm), 100 * table.judgement.mean,
               100 * table.judgement.worst, table.title, table.fitted ? "" : " (judged)");
}

void print_doubts(const std::vector<JudgedTable>& tables) {
  for (const auto& table : tables)
    for (const auto& point : table.judgement.points)
      if (!point.doubt.empty())
        fmt::print("distrusted: {}:{}: {}: {}\n", point.span.file ? point.span.file->name : table.title,
                   point.span.line, format_bytes(point.bytes), point.doubt);
}

std::vector<BandwidthSeries> series_of(const std::vector<JudgedTable>& tables) {
  std::vector<BandwidthSeries> series;
  for (const auto& table : tables) {
    auto& one = series.emplace_back();
    one.title = fmt::format("{} GPUs: {}", table.ranks, table.title);
    for (const auto& point : table.judgement.points) {
      one.measured.emplace_back(point.bytes, point.bytes / point.measured);
      one.predicted.emplace_back(point.bytes, point.bytes / point.predicted);
    }
  }
  return series;
}

MeasuredOptions measured_options(const TableOptions& options) {
  MeasuredOptions measured{options.world_size, {}};
  if (options.algorithm == "ring") measured.allowed.algorithms = {nccl::Algorithm::ring};
  if (options.algorithm == "tree") measured.allowed.algorithms = {nccl::Algorithm::tree};
  if (options.algorithm == "nvls")
    measured.allowed.algorithms = {nccl::Algorithm::nvls, nccl::Algorithm::nvls_tree};
  return measured;
}

void check_options(const TableOptions& options) {
  if (options.topology.empty()) throw InputError("--topology is required", "see 'ddpsim calibrate --help'");
  if (options.machines.empty() && options.judged.empty())
    throw InputError("nothing to fit to and nothing to judge by", "name a table, or --judge one");
  if (options.machines.empty() && (!options.out.empty() || options.every_other_size))
    throw InputError("nothing to fit to", "name a table before the options");
  if (options.every_other_size && (!options.out.empty() || !options.judged.empty()))
    throw InputError("--every-other-size judges each table by its own sizes and leaves no one calibration",
                     "leave out --out and --judge, or --every-other-size");
  check_outputs({{"--out", options.out}, {"--json", options.json}, {"--plot", options.plot}});
  if (!options.plot.empty()) check_plot_path(options.plot);
}

void check_world_size(const TableOptions& options, const std::vector<Machine>& machines,
                      const std::vector<Machine>& to_judge) {
  if (!options.world_size) return;
  for (const auto* all : {&machines, &to_judge})
    for (const auto& machine : *all)
      for (const auto& measured : machine)
        if (!measured.measurement.table.ranks) return;
  throw InputError(fmt::format("--world-size {} is of no use: every table says how many GPUs it is of",
                               *options.world_size),
                   "leave it out; FILE@8 takes a file's tables of 8 GPUs");
}

// With the curves of `known` that nothing was measured of.
nccl::Calibration with_rest_of(const nccl::Calibration& known, nccl::Calibration fitted) {
  for (const auto& entry : known.entries)
    if (!fitted.find(entry.algorithm, entry.across_nodes)) fitted.entries.push_back(entry);
  return fitted;
}

// A curve that is far off its own tables, or far above what the links have, is of another machine.
void check_fit(const nccl::Calibration& fitted, const std::vector<JudgedTable>& tables) {
  constexpr const char* kHint =
      "is it the topology of the machine that was measured, are times in the unit they say, and are machines "
      "that are averaged alike?";
  for (const auto& entry : fitted.entries)
    if (entry.curve.efficiency > kBestEfficiency)
      throw InputError(
          fmt::format(
              "the tables show {:.1f} times the bandwidth that the links of this topology have for {}; "
              "nothing is written",
              entry.curve.efficiency, nccl::name(entry.algorithm)),
          kHint);
  for (const auto& table : tables)
    if (table.fitted && table.judgement.mean > kWorstFit)
      throw InputError(
          fmt::format("the curve is {:.0f} % off {}: no all-reduce of NCCL on that topology looks "
                      "like this table, and nothing is written",
                      100 * table.judgement.mean, table.title),
          kHint);
}

std::vector<calibrate::FittedTable> fitted_tables(const std::vector<Machine>& machines,
                                                  const std::vector<JudgedTable>& judged) {
  std::vector<calibrate::FittedTable> tables;
  for (const auto& machine : machines)
    for (const auto& measured : machine)
      tables.push_back({&measured.measurement, judged[tables.size()].judgement});
  return tables;
}

}  // namespace

void calibrate_tables(const TableOptions& options) {
  check_options(options);
  auto topology = read_topology(options.topology);
  require_nccl(*topology, options.topology);
  auto measured = measured_options(options);
  auto machines = load_machines(options.machines, *topology, measured);
  auto to_judge = load_machines(options.judged, *topology, measured);
  check_world_size(options, machines, to_judge);
  nccl::Calibration known;
  if (!options.from_nothing && topology->nccl->calibration)
    known = read_calibration(*topology->nccl->calibration);

  nccl::Calibration calibration = known;
  std::vector<JudgedTable> tables;
  if (options.every_other_size) {
    tables = judge_every_other(machines, known);
    calibration = {};  // every half had its own
  } else {
    if (!machines.empty()) calibration = fit(machines, known);
    tables = judge_all(calibration, machines, true);
    for (auto& table : judge_all(calibration, to_judge, false)) tables.push_back(std::move(table));
  }
  bool prints = !options.quiet && options.out != "-" && options.json != "-";
  if (prints) {
    if (!options.every_other_size) print_curves(calibration);
    print_tables(tables);
    print_doubts(tables);
  }
  if (!machines.empty() && !options.every_other_size) check_fit(calibration, tables);
  OutputPhase writing;
  if (!options.out.empty())
    write_output(options.out,
                 write_calibration(with_rest_of(known, calibration), fitted_tables(machines, tables)));
  write_output(options.json, calibration_json(calibration, tables));
  if (!options.plot.empty()) write_bandwidth_plot(series_of(tables), options.plot);
}

}  // namespace ddpsim::cli
