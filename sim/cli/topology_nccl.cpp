#include <algorithm>
#include <memory>
#include <set>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/cluster_options.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cost/direct_sends.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_notes.hpp"
#include "sim/cost/operation_costs.hpp"
#include "sim/nccl/forced.hpp"
#include "sim/nccl/log_comparison.hpp"
#include "sim/report/collective_costs.hpp"
#include "sim/resolve/plausibility.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/topology/rings.hpp"

namespace ddpsim::cli {
namespace {

void print_graph(std::string_view name, const nccl::Graph& graph, bool across) {
  if (!graph.found) {
    fmt::print("{:<6}   1 channel  in the GPUs' order: none found\n", name);
    return;
  }
  auto in_node = format_bandwidth(BytesPerSecond(graph.intra * 1e9));
  fmt::print(
      "{:<6} {:>3} channel{} of {}{}\n", name, graph.channels, graph.channels == 1 ? " " : "s", in_node,
      across
          ? fmt::format(" in a node, {} between nodes", format_bandwidth(BytesPerSecond(graph.inter * 1e9)))
          : "");
}

void print_candidates(std::string_view title, const std::vector<nccl::Candidate>& candidates) {
  std::size_t width = 10;
  for (const auto& c : candidates) width = std::max(width, nccl::name(c.algorithm).size());
  fmt::print("\n{}\n{:<{}} {:<9}{:>9}{:>13}{:>13}\n", title, "algorithm", width, "protocol", "channels",
             "latency", "algbw");
  for (const auto& c : candidates)
    fmt::print("{:<{}} {:<9}{:>9}{:>13}{:>13}\n", nccl::name(c.algorithm), width, nccl::name(c.protocol),
               c.channels, format_seconds(c.latency), format_bandwidth(c.algbw));
}

// `unforced`: what NCCL would do by itself, row by row; none: nothing is forced.
void print_picks(const std::vector<OperationCost>& costs, const std::vector<OperationCost>& unforced,
                 int ranks) {
  std::size_t width = 19;
  for (const auto& cost : costs) width = std::max(width, cost.algorithm.size() + 1 + cost.protocol.size());
  std::vector<std::string> own;
  std::size_t by_itself = 0;
  for (std::size_t i = 0; i < unforced.size(); ++i) {
    own.push_back(unforced_text({unforced[i].algorithm, unforced[i].protocol, unforced[i].time},
                                costs[i].algorithm, costs[i].protocol));
    by_itself = std::max({by_itself, own.back().size(), std::string_view("by itself").size()});
  }
  auto own_column = [&](std::string_view text) {
    return unforced.empty() ? std::string() : fmt::format("{:<{}}  ", text, by_itself);
  };
  fmt::print("\n{:>9}  {:<{}} {:>8}{:>12}{:>12}{:>12}  {}{}\n", "message",
             unforced.empty() ? "NCCL picks" : "forced", width, "channels", "time", "algbw", "busbw",
             own_column("by itself"), "the time is");
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto& cost = costs[i];
    if (!cost.time) {
      fmt::print("{:>9}  {}\n", format_bytes(cost.bytes), cost.why_not);
      continue;
    }
    auto algbw = cost.bytes / *cost.time;
    fmt::print("{:>9}  {:<{}} {:>8}{:>12}{:>12}{:>12}  {}{}\n", format_bytes(cost.bytes),
               cost.algorithm + "/" + cost.protocol, width, cost.channels, format_seconds(*cost.time),
               format_bandwidth(algbw), format_bandwidth(algbw * busbw_factor(cost.operation, ranks)),
               own_column(own.empty() ? "" : own[i]), cost.note);
  }
}

constexpr std::size_t kMostOfNcclLog = std::size_t{256} << 20;

struct LogComparison {
  nccl::DebugLog log;
  std::vector<nccl::ComparedRow> rows;
};

LogComparison compare(const std::string& path, const nccl::Communicator& communicator, int ring_orders) {
  auto log = nccl::read_debug_log(load_text(path, "a log of NCCL", kMostOfNcclLog));
  auto rows = nccl::compare_with_log(communicator, ring_orders, log);
  return {std::move(log), std::move(rows)};
}

void print_comparison(const std::string& path, const LogComparison& comparison) {
  const auto& rows = comparison.rows;
  std::size_t what = 0, predicted = std::string_view("predicted").size();
  for (const auto& row : rows) {
    what = std::max(what, row.what.size());
    predicted = std::max(predicted, row.predicted.size());
  }
  fmt::print("\n{:<{}}  {:<{}}  {}\n", "", what, "predicted", predicted, path);
  std::size_t differences = 0;
  for (const auto& row : rows) {
    fmt::print("{:<{}}  {:<{}}  {}{}\n", row.what, what, row.predicted, predicted, row.logged,
               row.differs ? "   differs: " + row.why : "");
    differences += row.differs;
  }
  fmt::print("{}\n", differences == 0 ? "no difference" : counted(differences, "difference"));
  if (comparison.log.environment.empty()) return;
  std::string set;
  for (const auto& [name, value] : comparison.log.environment)
    set += fmt::format("{}{}={}", set.empty() ? "" : ", ", name, value);
  fmt::print("set in its environment: {}\n", set);
}

// Orders of the GPUs, among the rings that add bandwidth.
int ring_orders(const Cluster& cluster, const std::vector<int>& gpus) {
  auto rings = find_rings(cluster.without_hashing(), gpus, std::nullopt);
  return static_cast<int>(std::set<std::vector<int>>(rings.begin(), rings.end()).size());
}

void show_nccl(const ClusterOptions& options, Operation operation, const AllowedOptions& more,
               const std::string& log) {
  auto topology = options.topology();
  auto platform = more.platform(require_nccl(*topology, options.file));
  auto allowed = more.allowed(platform);
  auto cluster = options.build(*topology);
  auto gpus = options.job(*topology, *cluster);
  if (gpus.size() < 2) throw InputError("a collective needs two GPUs", "use a larger --world-size");
  auto communicator = nccl_communicator(*cluster, gpus, platform);
  if (!nccl::has_symmetric(operation)) allowed.symmetric = false;  // which concerns others only
  if (allowed.symmetric) nccl::require_symmetric(communicator, allowed);
  nccl::Calibration calibration;
  if (platform.calibration) calibration = read_calibration(*platform.calibration);
  std::vector<Bytes> sizes;
  for (double bytes = 4096; bytes <= 4294967296.0; bytes *= 4) sizes.emplace_back(bytes);
  auto costs = nccl_costs(*cluster, gpus, platform, allowed, calibration, {&operation, 1}, sizes);
  std::vector<OperationCost> unforced;
  if (nccl::forces(allowed))
    unforced =
        nccl_costs(*cluster, gpus, platform, more.unforced(platform), calibration, {&operation, 1}, sizes);
  std::optional<LogComparison> comparison;
  if (!log.empty()) comparison = compare(log, communicator, ring_orders(*cluster, gpus));
  fmt::print("{} GPUs ({}) on {} node{}, NCCL {}\n", communicator.ranks, nccl::name(communicator.gpu),
             communicator.nodes, communicator.nodes == 1 ? "" : "s", nccl::name(communicator.version));
  for (const auto& transport : transports_of(communicator)) fmt::print("{}\n", transport);
  bool across = communicator.nodes > 1;
  print_graph("rings", communicator.ring, across);
  print_graph("trees", communicator.tree, across);
  if (communicator.nvls) print_graph("NVLS", *communicator.nvls, across);
  if (comparison) print_comparison(log, *comparison);
  auto notes = nccl_notes(communicator, allowed, calibration);
  for (auto& note : cluster_notes(*topology, *cluster)) notes.push_back(std::move(note));
  print_notes(notes);
  if (!sends_directly(operation))
    print_candidates("what its tuner counts with",
                     nccl::Tuner(communicator, allowed, {operation}).candidates());
  if (allowed.symmetric)
    print_candidates(
        "symmetric kernels, which it runs instead",
        nccl::CostModel(communicator, allowed, calibration, {operation}).symmetric()->candidates());
  print_picks(costs, unforced, communicator.ranks);
  if (platform.calibration) fmt::print("\ncalibration: {}\n", *platform.calibration);
}

}  // namespace

Command topology_nccl_command() {
  struct NcclOptions : ClusterOptions {
    AllowedOptions allowed;
    std::string log;
    std::string operation = std::string(operation_name(Operation::all_reduce));
  };
  auto options = std::make_shared<NcclOptions>();
  Command command{.name = "nccl",
                  .description = "What NCCL would do: channels, its tuner's figures and picks",
                  .example = "  ddpsim topology nccl topologies/dgx-h100.yaml --world-size 32",
                  .run = [options] {
                    show_nccl(*options, find_operation(options->operation).value(), options->allowed,
                              options->log);
                  }};
  options->add_to(command);
  command.options.push_back({.name = "--operation",
                             .value = &options->operation,
                             .description = "What the GPUs do together",
                             .shows_default = true,
                             .words = operation_names()});
  options->allowed.add_to(command);
  command.options.push_back({.name = "--log",
                             .value = &options->log,
                             .description =
                                 "What NCCL printed there with NCCL_DEBUG=INFO, to compare with: release, "
                                 "channels, rings, transports, NVLS",
                             .type = "PATH"});
  return command;
}

}  // namespace ddpsim::cli
