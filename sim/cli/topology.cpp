#include "sim/topology/topology.hpp"

#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/cli/cluster_options.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/table_outputs.hpp"
#include "sim/process/external_program.hpp"
#include "sim/report/topology_report.hpp"
#include "sim/topology/describe.hpp"
#include "sim/topology/rings.hpp"

namespace ddpsim::cli {
namespace {

std::string describe(const Cluster& cluster, int link) {
  auto figures = cluster.link(link);
  return fmt::format("{}, {}, {}", cluster.link_name(link), format_bandwidth(figures.bandwidth),
                     format_seconds(figures.latency));
}

struct TopologyShowOptions : ClusterOptions {
  TableOutputs outputs;
};

LinkFigures figures_of(const Cluster& cluster, int link) {
  auto figures = cluster.link(link);
  return {cluster.link_name(link), figures.bandwidth, figures.latency};
}

TopologyReport report_of(const std::string& file, const Cluster& cluster, const TopologySummary& summary) {
  TopologyReport report{file, summary.gpus, summary.nodes, summary.links, {}, {}, summary.bisection, {}, {}};
  if (summary.narrowest_link >= 0) {
    report.narrowest = figures_of(cluster, summary.narrowest_link);
    report.widest = figures_of(cluster, summary.widest_link);
  }
  if (const auto& route = summary.between_nodes) {
    report.between_nodes = {route->bandwidth, route->latency, cluster.link_name(summary.bottleneck), {}};
    for (int link : route->links) report.between_nodes->links.push_back(figures_of(cluster, link));
  }
  auto gpus = gpus_on_a_page(cluster);
  for (int from : gpus)
    for (int to : gpus)
      if (from != to)
        report.pairs.push_back({cluster.gpu_name(from), cluster.gpu_name(to), link_type(cluster, from, to)});
  return report;
}

void show(const TopologyShowOptions& options) {
  options.outputs.check();
  auto cluster = options.build();
  auto summary = summarize(*cluster);
  auto report = report_of(options.file, *cluster, summary);
  options.outputs.write([&] { return topology_json(report); }, [&] { return topology_csv(report); });
  if (!options.outputs.prints()) return;
  fmt::print("{} GPU{} in {} node{}, {} links (each direction counts)\n", summary.gpus,
             summary.gpus == 1 ? "" : "s", summary.nodes, summary.nodes == 1 ? "" : "s", summary.links);
  if (summary.narrowest_link >= 0) {
    fmt::print("narrowest link      {}\n", describe(*cluster, summary.narrowest_link));
    fmt::print("widest link         {}\n", describe(*cluster, summary.widest_link));
  }
  fmt::print("bisection bandwidth {}\n", format_bandwidth(summary.bisection));
  if (summary.between_nodes) {
    fmt::print("between two nodes   {}, {}, bottleneck {}\n",
               format_bandwidth(summary.between_nodes->bandwidth),
               format_seconds(summary.between_nodes->latency), cluster->link_name(summary.bottleneck));
    for (int link : summary.between_nodes->links) fmt::print("  {}\n", describe(*cluster, link));
  }
  fmt::print("\n{}", topology_table(*cluster));
}

struct RingOptions {
  ClusterOptions cluster;
  std::optional<int> channels;
  TableOutputs outputs;
};

// With the narrowest hop of the ring, as it is when nobody else is there.
RingReport ring_report(const Cluster& cluster, const std::vector<int>& order) {
  RingReport report{order, 0, 0, {}, {}};
  std::optional<Route> narrowest;
  for (std::size_t i = 0; i < order.size(); ++i) {
    int from = order[i], to = order[(i + 1) % order.size()];
    auto hop = cluster.route(from, to);
    if (narrowest && hop.bandwidth >= narrowest->bandwidth) continue;
    report.from = from;
    report.to = to;
    narrowest = std::move(hop);
  }
  report.bandwidth = narrowest->bandwidth;
  for (int link : narrowest->links)
    if (report.link.empty() && cluster.link(link).bandwidth == narrowest->bandwidth)
      report.link = cluster.link_name(link);
  return report;
}

void rings(const RingOptions& options) {
  options.outputs.check();
  auto topology = options.cluster.topology();
  auto cluster = options.cluster.build(*topology);
  auto gpus = options.cluster.job(*topology, *cluster);
  if (gpus.size() < 2) throw InputError("a ring needs two GPUs", "use a larger --world-size");
  auto orders = find_rings(*cluster, gpus, options.channels);
  std::vector<RingReport> found;
  for (const auto& order : orders) found.push_back(ring_report(*cluster, order));
  options.outputs.write([&] { return rings_json(options.cluster.file, found); },
                        [&] { return rings_csv(found); });
  if (!options.outputs.prints()) return;
  for (std::size_t c = 0; c < orders.size(); ++c) {
    constexpr std::size_t kShown = 32;
    fmt::print("ring {}:", c);
    for (std::size_t i = 0; i < std::min(orders[c].size(), kShown); ++i) fmt::print(" {}", orders[c][i]);
    fmt::print("{}   (narrowest hop {}, {})\n", orders[c].size() > kShown ? " ..." : "",
               format_bandwidth(found[c].bandwidth), found[c].link);
  }
}

struct ExportOptions {
  ClusterOptions cluster;
  std::string dot, svg;
};

void export_graph(const ExportOptions& options) {
  if (options.dot.empty() == options.svg.empty())
    throw InputError("one of --dot and --svg says what to write", "write --svg topology.svg");
  const ExternalProgram graphviz{"dot", {"-Tsvg"}, "graphs are drawn", "graphviz"};
  check_outputs({{"--svg", options.svg}, {"--dot", options.dot}});
  if (!options.svg.empty()) require_program(graphviz);
  auto cluster = options.cluster.build();
  auto dot = to_dot(*cluster);
  OutputPhase writing;
  if (options.svg.empty())
    write_output(options.dot, dot);
  else
    write_output(options.svg, run_program(graphviz, dot));
}

Command topology_show_command() {
  auto options = std::make_shared<TopologyShowOptions>();
  Command command{.name = "show",
                  .description = "Summary, and what joins each two GPUs (as nvidia-smi topo -m)",
                  .example = "  ddpsim topology show topologies/dgx-h100.yaml --world-size 16",
                  .run = [options] { show(*options); }};
  options->add_to(command);
  options->outputs.add_to(command);
  return command;
}

Command rings_command() {
  auto options = std::make_shared<RingOptions>();
  Command command{.name = "rings",
                  .description = "The rings that a search finds",
                  .example = "  ddpsim topology rings topologies/dgx1-v100.yaml",
                  .run = [options] { rings(*options); }};
  options->cluster.add_to(command);
  command.options.push_back({.name = "--channels",
                             .value = &options->channels,
                             .description = "Exactly so many; without it as many as add bandwidth",
                             .range = {{1, 64}}});
  options->outputs.add_to(command);
  return command;
}

Command export_command() {
  auto options = std::make_shared<ExportOptions>();
  Command command{.name = "export",
                  .description = "The topology as a graph, for Graphviz or drawn by it",
                  .example = "  ddpsim topology export topologies/dgx1-v100.yaml --svg dgx1.svg",
                  .run = [options] { export_graph(*options); }};
  options->cluster.add_to(command);
  command.options.push_back(output_option("--dot", &options->dot,
                                          "Write the graph in Graphviz's language (- for standard output)"));
  command.options.push_back(
      output_option("--svg", &options->svg, "Draw it (needs Graphviz; - for standard output)"));
  return command;
}

}  // namespace

Command topology_command() {
  return {.name = "topology",
          .description = "Look at a topology: links, routes, rings, what collectives cost",
          .example = "  ddpsim topology show topologies/dgx1-v100.yaml",
          .commands = {topology_show_command(), rings_command(), topology_costs_command(), export_command(),
                       topology_nccl_command(), topology_import_command()}};
}

}  // namespace ddpsim::cli
