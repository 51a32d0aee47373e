#include "sim/cli/calibrate_tables.hpp"

#include <algorithm>
#include <iostream>
#include <set>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/calibrate/band_check.hpp"
#include "sim/calibrate/calibration_file.hpp"
#include "sim/calibrate/calibration_json.hpp"
#include "sim/calibrate/fit.hpp"
#include "sim/cli/calibrate_devices.hpp"
#include "sim/cli/measurements.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/report/charts.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::JudgedTable;
using calibrate::Measurement;
using Machine = std::vector<Measurement>;

// A single machine's own rows have no excuse; several averaged ones differ.
constexpr double kWorstFit = 0.15, kWorstAverage = 0.5, kBestEfficiency = 1.4;

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

nccl::Calibration fit(const std::vector<Machine>& machines, const nccl::Calibration& known,
                      std::vector<Note>& notes) {
  std::vector<calibrate::MachineFit> fitted;
  for (const auto& machine : machines) fitted.push_back(calibrate::fit_machine(machine, known));
  for (const auto& one : fitted) notes.insert(notes.end(), one.notes.begin(), one.notes.end());
  return calibrate::average(fitted);
}

// What an average of several machines makes of each.
void note_averaged(const std::vector<Machine>& machines, const nccl::Calibration& known,
                   const nccl::Calibration& calibration, std::vector<Note>& notes) {
  if (machines.size() < 2) return;
  for (const auto& machine : machines) {
    std::vector<const Measurement*> tables;
    for (const auto& measurement : machine) tables.push_back(&measurement);
    if (auto worse = calibrate::worse_band(tables, known, calibration))
      notes.push_back({"calibration-average", fmt::format("{}: the average of the machines is {}",
                                                          machine.front().table.title, worse->text())});
  }
}

// Links that give far less, or more, than the topology says.
void note_efficiencies(const nccl::Calibration& fitted, std::vector<Note>& notes) {
  constexpr double kLow = 0.5, kHighForARing = 1.05;  // a fit is known to 5 %
  for (const auto& entry : fitted.entries) {
    double efficiency = entry.curve.efficiency;
    bool is_high = entry.algorithm == nccl::Algorithm::ring && efficiency > kHighForARing;
    if (efficiency >= kLow && !is_high) continue;
    notes.push_back(
        {"calibration-efficiency",
         fmt::format(
             "{} {} reaches {:.2f} times the bandwidth that this topology gives it: {}",
             nccl::name(entry.algorithm), entry.across_nodes ? "across nodes" : "in a node", efficiency,
             is_high
                 ? "no ring goes faster than its links. Are links, NICs or lanes missing in the topology, or "
                   "is it another machine's?"
                 : "is peer-to-peer or GPUDirect off (NCCL_P2P_DISABLE, IOMMU, ACS), are there fewer or "
                   "slower NICs than in the topology, or was somebody else on the links?")});
  }
}

JudgedTable judged_table(const nccl::Calibration& calibration, const Measurement& m, bool fitted) {
  auto points = calibrate::points_of(m.table);
  try {
    auto judgement = calibrate::judge(points, calibrate::predictor(m, calibration));
    return {m.table.title,
            m.collective.operation,
            m.communicator.ranks,
            m.communicator.nodes,
            calibrate::algorithm_name(m, points.back().bytes),
            fitted,
            std::move(judgement)};
  } catch (const InputError& error) {
    throw error.at(m.place());
  }
}

std::vector<JudgedTable> judge_all(const nccl::Calibration& calibration, const std::vector<Machine>& machines,
                                   bool fitted) {
  std::vector<JudgedTable> tables;
  for (const auto& machine : machines)
    for (const auto& measurement : machine) tables.push_back(judged_table(calibration, measurement, fitted));
  return tables;
}

// Each machine by itself: fitted to every other size, judged on the rest, both ways round.
std::vector<JudgedTable> judge_every_other(const std::vector<Machine>& machines,
                                           const nccl::Calibration& known) {
  std::vector<JudgedTable> tables;
  for (const auto& machine : machines)
    for (bool first : {true, false}) {
      Machine half;
      for (const auto& measurement : machine) half.push_back(every_other(measurement, first));
      std::vector<Note> of_half;
      auto calibration = calibrate::with_rest_of(known, fit({half}, known, of_half));
      for (const auto& measurement : machine)
        tables.push_back(judged_table(calibration, every_other(measurement, !first), false));
    }
  return tables;
}

void print_curves(const nccl::Calibration& calibration) {
  if (calibration.entries.empty()) return;
  fmt::print("{:<12}{:<13}{:>15}{:>12}{:>12}\n", "curve", "", "latency scale", "efficiency", "ramp");
  for (const auto& entry : calibration.entries)
    fmt::print("{:<12}{:<13}{:>15.3g}{:>12.3g}{:>12}\n", nccl::name(entry.algorithm),
               entry.across_nodes ? "across nodes" : "in a node", entry.curve.latency_scale,
               entry.curve.efficiency, format_seconds(entry.curve.ramp));
}

template <class Lines, class Parameters>
void print_parameters(const Lines& lines, const Parameters& parameters) {
  for (std::size_t p = 0; p < parameters.size(); ++p)
    fmt::print("{}{} {:.3g}{}", p % 5 == 0 ? "\n  " : ", ", parameters[p].name, lines.*parameters[p].value,
               parameters[p].is_latency ? " us" : "");
  fmt::print("\n");
}

void print_lines(const nccl::Calibration& calibration) {
  for (const auto& entry : calibration.node) {
    fmt::print("lines of {} in a node:", operation_name(entry.operation));
    if (sends_directly(entry.operation))
      print_parameters(entry.peers, nccl::kPeerParameters);
    else
      print_parameters(entry.ring, nccl::kRingParameters);
  }
}

std::string small_error(const JudgedTable& table) {
  auto small = table.judgement.between(Bytes(0), calibrate::kLarge);
  return small ? fmt::format("{:.1f} %", 100 * small->mean) : "-";
}

void print_tables(const std::vector<JudgedTable>& tables) {
  fmt::print("\n{:>5}{:>6}{:>6}  {:<15}{:<11}{:>11}{:>8}{:>10}  {}\n", "GPUs", "nodes", "rows", "operation",
             "algorithm", "mean error", "worst", "< 256 KiB", "table");
  for (const auto& table : tables)
    fmt::print("{:>5}{:>6}{:>6}  {:<15}{:<11}{:>9.1f} %{:>6.0f} %{:>10}  {}{}\n", table.ranks, table.nodes,
               table.judgement.points.size(), operation_name(table.operation), table.algorithm,
               100 * table.judgement.large.mean, 100 * table.judgement.large.worst, small_error(table),
               table.title, table.fitted ? "" : " (judged)");
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
      if (point.bytes < calibrate::kLarge) continue;
      one.measured.emplace_back(point.bytes, point.bytes / point.measured);
      one.predicted.emplace_back(point.bytes, point.bytes / point.predicted);
    }
  }
  return series;
}

MeasuredOptions measured_options(const TableOptions& options) {
  MeasuredOptions measured{options.world_size, {}, {}};
  if (!options.per_call.empty())
    measured.per_call =
        parse_seconds({options.per_call, whole_file(make_source("--per-call", options.per_call))});
  measured.operation = find_operation(options.operation);
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
  check_plot_path(options.plot);
}

// An option about tables that do not say needs one that does not.
void check_use(const TableOptions& options, const std::vector<Machine>& machines,
               const std::vector<Machine>& to_judge) {
  bool all_say_ranks = true, all_say_operations = true, agrees = true;
  for (const auto* all : {&machines, &to_judge})
    for (const auto& machine : *all)
      for (const auto& measurement : machine) {
        all_say_ranks = all_say_ranks && measurement.table.ranks;
        agrees = agrees && measurement.table.ranks == options.world_size;
        all_say_operations = all_say_operations && measurement.table.operations.size() == 1;
      }
  if (options.world_size && all_say_ranks && !agrees)
    throw InputError(
        fmt::format("--world-size {} contradicts the tables, each of which says how many GPUs it is of",
                    *options.world_size),
        "leave it out; FILE@8 takes a file's tables of 8 GPUs");
  if (!options.operation.empty() && all_say_operations)
    throw InputError(
        fmt::format("--operation {} is of no use: every table says what it is of", options.operation),
        "leave it out; FILE@8/half/all_gather takes a file's tables of one operation");
}

// A bandwidth far above what the links have is that of another machine.
void check_bandwidths(const nccl::Calibration& fitted) {
  for (const auto& entry : fitted.entries)
    if (entry.curve.efficiency > kBestEfficiency)
      throw InputError(
          fmt::format(
              "the tables show {:.1f} times the bandwidth that the links of this topology have for {}; "
              "nothing is written",
              entry.curve.efficiency, nccl::name(entry.algorithm)),
          calibrate::kOtherMachine);
}

// So is a calibration that is far off the rows it was fitted to.
void check_fit(const nccl::Calibration& fitted, const std::vector<calibrate::FittedTable>& tables,
               double worst) {
  for (const auto& [measurement, judgement] : tables) {
    auto rows = calibrate::fitted_points(*measurement, fitted);
    double mean = rows.empty() ? 0 : judgement.of(rows).mean;
    if (mean <= worst) continue;
    throw InputError(fmt::format("what was fitted is {:.0f} % off {} (at most {:.0f} % may be): no {} of "
                                 "NCCL on that topology looks like this table, and nothing is written",
                                 100 * mean, measurement->table.title, 100 * worst,
                                 operation_name(measurement->collective.operation)),
                     calibrate::kOtherMachine);
  }
}

std::vector<calibrate::FittedTable> fitted_tables(const std::vector<Machine>& machines,
                                                  const std::vector<JudgedTable>& judged) {
  std::vector<calibrate::FittedTable> tables;
  for (const auto& machine : machines)
    for (const auto& measurement : machine) tables.push_back({&measurement, judged[tables.size()].judgement});
  return tables;
}

// A file of nothing new; without a file the tables are judged as they are.
void check_something_is_fitted(const TableOptions& options, const std::vector<Machine>& machines,
                               const nccl::Calibration& fitted, const std::vector<Note>& notes) {
  if (options.out.empty() || machines.empty() || !fitted.entries.empty() || !fitted.node.empty()) return;
  throw InputError(machines.front().front().place(),
                   fmt::format("nothing is left to fit: {}", notes.front().text), calibrate::kOtherMachine);
}

// The release that the tables were measured with, where they agree, and the network between its nodes.
void name_machine(const Topology& topology, const std::vector<Machine>& machines,
                  nccl::Calibration& calibration) {
  calibration.release = topology.nccl->version;
  std::set<nccl::Version> versions;
  for (const auto& machine : machines)
    for (const auto& measurement : machine) versions.insert(measurement.communicator.version);
  if (versions.size() == 1) calibration.release = *versions.begin();
  bool across = std::any_of(calibration.entries.begin(), calibration.entries.end(),
                            [](const auto& entry) { return entry.across_nodes; });
  if (across && topology.network) calibration.network = name_in(kNetworkClassNames, *topology.network);
}

}  // namespace

void calibrate_tables(const TableOptions& options) {
  check_options(options);
  auto topology = read_topology(preset_path(PresetKind::topologies, "--topology", options.topology));
  require_nvidia(*topology, options.topology);
  require_nccl(*topology, options.topology);
  auto measured = measured_options(options);
  auto machines = load_machines(options.machines, *topology, measured);
  auto as_it_is = measured;  // others may have measured what judges
  as_it_is.per_call = {};
  auto to_judge = load_machines(options.judged, *topology, as_it_is);
  check_use(options, machines, to_judge);
  for (const auto* all : {&machines, &to_judge})
    for (const auto& machine : *all) check_devices(machine, *topology, options.topology, options.accept);
  nccl::Calibration known;
  if (!options.from_nothing && topology->nccl->calibration)
    known = read_calibration(*topology->nccl->calibration);

  nccl::Calibration fitted, calibration;
  std::vector<Note> notes;
  std::vector<JudgedTable> tables;
  if (options.every_other_size) {
    tables = judge_every_other(machines, known);  // every half had its own calibration
  } else {
    fitted = fit(machines, known, notes);
    check_something_is_fitted(options, machines, fitted, notes);
    calibration = calibrate::with_rest_of(known, fitted);
    note_averaged(machines, known, calibration, notes);
    note_efficiencies(fitted, notes);
    tables = judge_all(calibration, machines, true);
    for (auto& table : judge_all(calibration, to_judge, false)) tables.push_back(std::move(table));
  }
  if (!options.quiet) print_notes(notes);
  bool prints = !options.quiet && options.out != "-" && options.json != "-";
  if (prints) {
    print_curves(calibration);
    print_lines(calibration);
    print_tables(tables);
    print_doubts(tables);
  }
  auto of_fit =
      options.every_other_size ? std::vector<calibrate::FittedTable>{} : fitted_tables(machines, tables);
  check_bandwidths(fitted);
  check_fit(fitted, of_fit, machines.size() > 1 || options.out.empty() ? kWorstAverage : kWorstFit);
  OutputPhase writing;
  calibrate::note_fit(fitted, of_fit);
  calibration = calibrate::with_rest_of(known, fitted);
  name_machine(*topology, machines, calibration);
  if (!options.out.empty()) write_output(options.out, calibrate::write_calibration(calibration));
  write_output(options.json, calibration_json(calibration, tables));
  write_output(options.plot, [&] { return svg(bandwidth_chart(series_of(tables))); });
}

}  // namespace ddpsim::cli
