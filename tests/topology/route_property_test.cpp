// Routes by rule against a plain search through the cluster written out, on random small clusters of every
// interconnect and fabric, whole and with broken and slow links.
#include <map>
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/shortest_ways.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using Kind = ClusterGraph::Kind;

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  int number(int lowest, int highest) {
    return lowest + static_cast<int>(engine_() % static_cast<unsigned>(highest - lowest + 1));
  }
  std::string bandwidth() { return fmt::format("{}GB/s", 5 * number(1, 6)); }

 private:
  std::mt19937 engine_;
};

std::string interconnect(Draw& draw, int kind, int gpus) {
  auto link = fmt::format("bandwidth: {}, latency: 1us", draw.bandwidth());
  auto tree = fmt::format(
      "gpus_per_switch: {}, switches_per_socket: {}, host: {{bandwidth: {}, latency: 1us}}, "
      "socket: {{bandwidth: {}, latency: 1us}}",
      draw.number(1, 3), draw.number(1, 2), draw.bandwidth(), draw.bandwidth());
  switch (kind) {
    case 0:
      return fmt::format("{{kind: nvswitch, {}}}", link);
    case 1:
      return fmt::format("{{kind: fully_connected, {}}}", link);
    case 2:
      return fmt::format("{{kind: ring, {}}}", link);
    case 3:
      return fmt::format("{{kind: pcie, {}, {}}}", link, tree);
    default: {
      std::string links;
      for (int a = 0; a < gpus; ++a)
        for (int b = a + 1; b < gpus; ++b)
          if (b == a + 1 || draw.number(0, 2) == 0)
            links += fmt::format("{}{{between: [{}, {}], count: {}}}", links.empty() ? "" : ", ", a, b,
                                 draw.number(1, 2));
      auto pcie = draw.number(0, 1) ? fmt::format(", pcie: {{{}, {}}}", link, tree) : "";
      return fmt::format("{{kind: nvlink_mesh, {}, links: [{}]{}}}", link, links, pcie);
    }
  }
}

std::string fabric(Draw& draw, int kind) {
  int over = draw.number(1, 3), group = draw.number(1, 2);
  switch (kind) {
    case 0:
      return fmt::format("{{kind: rail_optimized, nodes_per_leaf: {}, oversubscription: {}}}", group, over);
    case 1:
      return fmt::format("{{kind: rail_optimized, nodes_per_leaf: {}, spine: false}}", group + 1);
    case 2:
      return fmt::format("{{kind: fat_tree, nodes_per_leaf: {}, oversubscription: {}}}", group, over);
    case 3:
      return fmt::format(
          "{{kind: fat_tree, levels: 3, nodes_per_leaf: 1, leaves_per_pod: {}, oversubscription: {}}}", group,
          over);
    default:
      return "{kind: ring}";
  }
}

std::string cluster_text(Draw& draw, int interconnect_kind, int fabric_kind, int gpus) {
  auto node = [&](int nics) {
    return fmt::format("{{gpus: {}, interconnect: {}, nics: {{count: {}, bandwidth: {}, latency: 2us}}}}",
                       gpus, interconnect(draw, interconnect_kind, gpus), nics, draw.bandwidth());
  };
  int nics = draw.number(1, gpus);
  auto text = fmt::format("kind: cluster\nnode: {}\nfabric: {}\n", node(nics), fabric(draw, fabric_kind));
  if (draw.number(0, 1)) {
    int other_nics = fabric_kind == 4 ? nics : draw.number(1, nics);
    text += fmt::format("other_nodes: [{{nodes: [1], node: {}}}]\n", node(other_nics));
  }
  return text;
}

// The rules of forwarding as layers of one graph: a way starts in the first node (0), may change GPUs there
// once (1), crosses the fabric (2), comes into the other node (3) and may change GPUs once more (4). A GPU
// that was reached over a link ends there; only its copy that sends goes on.
class Layers {
 public:
  Layers(const ClusterGraph& graph, int from_gpu, int to_gpu) : graph_(graph) {
    for (int v = 0; v < static_cast<int>(graph.vertices.size()); ++v) {
      if (graph.vertices[v].gpu == from_gpu) from_ = v;
      if (graph.vertices[v].gpu == to_gpu) to_ = v;
    }
  }

  std::optional<Route> search() {
    int source = sender(0, from_);
    int here = graph_.vertices[from_].node, there = graph_.vertices[to_].node;
    for (const auto& edge : graph_.edges) {
      if (edge.broken) continue;
      const auto &a = graph_.vertices[edge.from], &b = graph_.vertices[edge.to];
      if (a.node == b.node && a.node == here) inside({0, 1}, edge);
      if (a.node == b.node && a.node == there && here != there) inside({3, 4}, edge);
      if (a.node != b.node || a.node == -1) across(edge, a, b, here, there);
    }
    change_gpus(here, 0, 1);
    change_gpus(there, 3, 4);
    std::vector<int> ends{receiver(0, to_)};
    if (here != there) ends = {receiver(3, to_), receiver(4, to_)};
    auto ways = shortest_ways(ways_, source);
    std::optional<Route> best;
    for (int end : ends) {
      const auto& way = ways[end];
      if (!way) continue;
      if (!best || better_way(way->links.size(), way->bandwidth, best->links.size(), best->bandwidth))
        best = way;
    }
    return best;
  }

 private:
  int number(int layer, int v, bool sends) {
    bool gpu = graph_.vertices[v].kind == Kind::gpu;
    auto [it, first] = numbers_.try_emplace({layer, v, gpu && sends}, static_cast<int>(numbers_.size()));
    if (first) ways_.forwards.push_back(!gpu || sends);
    return it->second;
  }
  int sender(int layer, int v) { return number(layer, v, true); }
  int receiver(int layer, int v) { return number(layer, v, false); }

  void inside(std::initializer_list<int> layers, const ClusterGraph::Edge& edge) {
    for (int layer : layers) {
      bool from_nic = graph_.vertices[edge.from].kind == Kind::nic;
      bool to_nic = graph_.vertices[edge.to].kind == Kind::nic;
      if (from_nic && layer != 3) continue;  // comes in only once
      if (to_nic && layer > 1) continue;
      ways_.edges.push_back({sender(layer, edge.from), receiver(layer, edge.to), edge.link, edge.figures});
    }
  }
  void across(const ClusterGraph::Edge& edge, const ClusterGraph::Vertex& a, const ClusterGraph::Vertex& b,
              int here, int there) {
    if (here == there || (a.node >= 0 && a.node != here) || (b.node >= 0 && b.node != there)) return;
    for (int layer : {0, 1}) {
      if (a.node < 0 && layer == 1) continue;
      ways_.edges.push_back({sender(a.node < 0 ? 2 : layer, edge.from), receiver(b.node < 0 ? 2 : 3, edge.to),
                             edge.link, edge.figures});
    }
  }
  void change_gpus(int node, int layer, int next) {
    for (int v = 0; v < static_cast<int>(graph_.vertices.size()); ++v)
      if (graph_.vertices[v].node == node && graph_.vertices[v].gpu >= 0)
        ways_.edges.push_back({receiver(layer, v), sender(next, v), -1});
    for (auto& [key, index] : numbers_)  // a GPU that receives forwards to its sending copy only
      if (std::get<0>(key) == layer) ways_.forwards[index] = true;
  }

  const ClusterGraph& graph_;
  int from_ = -1, to_ = -1;
  std::map<std::tuple<int, int, bool>, int> numbers_;
  WayGraph ways_;
};

void compare_all_pairs(const Cluster& cluster, const std::string& text) {
  auto graph = cluster.graph();
  for (int from = 0; from < cluster.gpus(); ++from)
    for (int to = 0; to < cluster.gpus(); ++to) {
      if (from == to) continue;
      auto expected = Layers(graph, from, to).search();
      auto route = cluster.find_route(from, to);
      ASSERT_EQ(route.has_value(), expected.has_value()) << from << " to " << to << " in\n" << text;
      if (!route) continue;
      ASSERT_EQ(route->links.size(), expected->links.size()) << from << " to " << to << " in\n" << text;
      ASSERT_EQ(route->bandwidth, expected->bandwidth) << from << " to " << to << " in\n" << text;
      Seconds latency(0);
      auto bandwidth = cluster.link(route->links.front()).bandwidth;
      for (int link : route->links) {
        latency += cluster.link(link).latency;
        bandwidth = std::min(bandwidth, cluster.link(link).bandwidth);
      }
      ASSERT_NEAR(route->latency.value(), latency.value(), 1e-15);
      ASSERT_EQ(route->bandwidth, bandwidth);
    }
}

std::vector<LinkOverride> random_overrides(Draw& draw, const Cluster& cluster, int count) {
  std::vector<LinkOverride> overrides;
  for (int i = 0; i < count; ++i) {
    LinkOverride override;
    override.link = cluster.link_name(draw.number(0, cluster.links() - 1));
    override.broken = draw.number(0, 3) > 0;
    override.bandwidth = BytesPerSecond(draw.number(1, 40) * 1e9);
    bool twice = false;
    for (const auto& other : overrides) twice = twice || other.link == override.link;
    if (!twice) overrides.push_back(override);
  }
  return overrides;
}

class RouteProperty : public ::testing::TestWithParam<int> {};

TEST_P(RouteProperty, TheRuleFindsWhatASearchFinds) {
  int interconnect_kind = GetParam() / 5, fabric_kind = GetParam() % 5;
  Draw draw(static_cast<unsigned>(GetParam()) + 1);
  for (int round = 0; round < 6; ++round) {
    int gpus = draw.number(2, 5);
    auto text = cluster_text(draw, interconnect_kind, fabric_kind, gpus);
    int world = draw.number(gpus, 3 * gpus);
    auto topology = testing::read_text(text);
    auto whole = topology->build(world);
    compare_all_pairs(*whole, text);
    auto overrides = random_overrides(draw, *whole, draw.number(1, 8));
    compare_all_pairs(*topology->build(world, overrides), text);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(InterconnectTimesFabric, RouteProperty, ::testing::Range(0, 25));

}  // namespace
}  // namespace ddpsim
