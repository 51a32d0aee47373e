#include "sim/topology/describe.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "sim/topology/bisection.hpp"

namespace ddpsim {
namespace {

constexpr int kGpusOnAPage = 16;

// nvidia-smi says NV4; rocm-smi says XGMI of any number, which is said here of more than one.
std::string direct_links(const Cluster& cluster, const Route& route) {
  int count = cluster.cable(route.links.front()).count;
  for (int link : route.links) count = std::min(count, cluster.cable(link).count);
  bool is_xgmi = cluster.cable(route.links.front()).medium == Medium::xgmi;
  if (is_xgmi) return count > 1 ? fmt::format("XGMI{}", count) : "XGMI";
  return count > 0 ? fmt::format("NV{}", count) : "NV";
}

int narrowest(const Cluster& cluster, const std::vector<int>& links) {
  auto narrower = [&](int a, int b) { return cluster.link(a).bandwidth < cluster.link(b).bandwidth; };
  auto it = std::min_element(links.begin(), links.end(), narrower);
  return it == links.end() ? -1 : *it;
}

}  // namespace

// All GPUs if they fit, else those of the first node; of nodes with one GPU, the first ones.
std::vector<int> gpus_on_a_page(const Cluster& cluster) {
  std::vector<int> first, of_node;
  for (int gpu = 0; gpu < cluster.gpus(); ++gpu) {
    if (gpu < kGpusOnAPage) first.push_back(gpu);
    if (cluster.node_of(gpu) == cluster.node_of(0)) of_node.push_back(gpu);
  }
  return cluster.gpus() <= kGpusOnAPage || of_node.size() == 1 ? first : of_node;
}

std::string link_type(const Cluster& cluster, int gpu_a, int gpu_b) {
  if (gpu_a == gpu_b) return "X";
  auto route = cluster.find_route(gpu_a, gpu_b);
  if (!route) return "-";
  auto passes = [&](Medium medium) {
    return std::count_if(route->links.begin(), route->links.end(),
                         [&](int link) { return cluster.cable(link).medium == medium; });
  };
  if (passes(Medium::network) > 0) return "NET";
  if (passes(Medium::socket) > 0) return "SYS";
  if (passes(Medium::numa_node) > 0) return "NODE";
  if (passes(Medium::host_bridge) > 0) return "PHB";
  if (auto links = passes(Medium::pcie); links > 0) return links <= 2 ? "PIX" : "PXB";
  return direct_links(cluster, *route);
}

std::string topology_table(const Cluster& cluster) {
  auto gpus = gpus_on_a_page(cluster);
  std::vector<std::vector<std::string>> rows{{""}};
  for (int gpu : gpus) rows.front().push_back(cluster.gpu_name(gpu));
  for (int from : gpus) {
    auto& row = rows.emplace_back(1, cluster.gpu_name(from));
    for (int to : gpus) row.push_back(link_type(cluster, from, to));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line += fmt::format("{:<{}}  ", row[column], width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  if (auto shown = static_cast<int>(gpus.size()); shown < cluster.gpus())
    table += fmt::format("({} of {} GPUs)\n", shown, cluster.gpus());
  return table;
}

TopologySummary summarize(const Cluster& cluster) {
  TopologySummary summary;
  summary.gpus = cluster.gpus();
  summary.nodes = cluster.nodes();
  for (int link = 0; link < cluster.links(); ++link) {
    // A single node uses no fabric.
    if (summary.nodes == 1 && cluster.cable(link).medium == Medium::network) continue;
    auto bandwidth = cluster.link(link).bandwidth;
    if (summary.links == 0 || bandwidth < cluster.link(summary.narrowest_link).bandwidth)
      summary.narrowest_link = link;
    if (summary.links == 0 || bandwidth > cluster.link(summary.widest_link).bandwidth)
      summary.widest_link = link;
    ++summary.links;
  }
  summary.bisection = bisection_bandwidth(cluster);
  int other = 0;
  while (other < summary.gpus && cluster.node_of(other) == cluster.node_of(0)) ++other;
  if (other < summary.gpus) summary.between_nodes = cluster.find_route(0, other);
  if (summary.between_nodes) summary.bottleneck = narrowest(cluster, summary.between_nodes->links);
  return summary;
}

}  // namespace ddpsim
