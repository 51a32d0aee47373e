#include "sim/topology/graph_cluster.hpp"

#include <fmt/core.h>

#include "sim/topology/names.hpp"

namespace ddpsim {

GraphCluster::GraphCluster(std::shared_ptr<const GraphPlan> plan, int gpus)
    : plan_(std::move(plan)), gpus_(gpus), ways_(std::make_unique<Ways[]>(static_cast<std::size_t>(gpus))) {
  std::unordered_map<int, int> number;  // of the user's node
  std::vector<int> filled;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    auto [it, first] = number.try_emplace(plan_->vertices[gpu].node, nodes_);
    if (first) {
      ++nodes_;
      filled.push_back(0);
    }
    node_of_.push_back(it->second);
    position_of_.push_back(filled[it->second]++);
  }
}

void GraphCluster::change(std::span<const LinkOverride> file, std::span<const LinkOverride> scenario) {
  changes_.add(*this, file);
  changes_.add(*this, scenario);
}

std::string GraphCluster::link_name(int id) const {
  const auto& wire = plan_->wires[id];
  return plan_->vertices[wire.from].name + ">" + plan_->vertices[wire.to].name;
}

std::optional<int> GraphCluster::link_between(int from, int to) const {
  for (int i = 0; i < links(); ++i)
    if (plan_->wires[i].from == from && plan_->wires[i].to == to) return i;
  return std::nullopt;
}

static std::optional<int> vertex_named(const GraphPlan& plan, const std::string& name) {
  auto found = plan.number.find(name);
  return found == plan.number.end() ? std::nullopt : std::optional(found->second);
}

// To switches and NICs: its cable.
static std::vector<int> links_of_nic(const GraphPlan& plan, int nic) {
  std::vector<int> found;
  for (std::size_t i = 0; i < plan.wires.size(); ++i) {
    int from = plan.wires[i].from, to = plan.wires[i].to;
    bool at_gpu = from < plan.gpus || to < plan.gpus;
    if (!at_gpu && (from == nic || to == nic)) found.push_back(static_cast<int>(i));
  }
  return found;
}

// The name of a NIC stands for all its links.
std::vector<int> GraphCluster::links_named(const std::string& name, const SourceSpan& place) const {
  std::vector<int> found;
  if (auto nic = vertex_named(*plan_, name); nic && plan_->vertices[*nic].kind == ClusterGraph::Kind::nic)
    found = links_of_nic(*plan_, *nic);
  if (!found.empty()) return found;
  for (const auto& [from, to, both_ways] : possible_ends(name)) {
    auto a = vertex_named(*plan_, from), b = vertex_named(*plan_, to);
    if (!a || !b) continue;
    if (auto link = link_between(*a, *b)) found.push_back(*link);
    if (auto link = link_between(*b, *a); link && both_ways) found.push_back(*link);
    if (!found.empty()) return found;
  }
  std::vector<std::string> candidates;
  for (int i = 0; i < links(); ++i) {
    const auto& wire = plan_->wires[i];
    const auto* sign = name.find('>') == std::string::npos ? "-" : ">";
    candidates.push_back(plan_->vertices[wire.from].name + sign + plan_->vertices[wire.to].name);
  }
  throw_unknown_link(name, place, candidates,
                     fmt::format("write 'A>B' for one direction or 'A-B' for both; the first link is {}",
                                 links() > 0 ? link_name(0) : "missing"));
}

WayGraph GraphCluster::way_graph(bool whole) const {
  WayGraph graph;
  for (const auto& vertex : plan_->vertices) graph.forwards.push_back(vertex.kind != ClusterGraph::Kind::gpu);
  for (int i = 0; i < links(); ++i)
    if (whole || !changes_.broken(i))
      graph.edges.push_back({plan_->wires[i].from, plan_->wires[i].to, i, link(i)});
  return graph;
}

std::optional<Route> GraphCluster::find_route(int from_gpu, int to_gpu) const {
  auto& ways = ways_[static_cast<std::size_t>(from_gpu)];
  std::call_once(ways.once, [&] { ways.to = shortest_ways(way_graph(false), from_gpu); });
  return ways.to[to_gpu];
}

Route GraphCluster::route(int from_gpu, int to_gpu) const {
  if (auto found = find_route(from_gpu, to_gpu)) return *std::move(found);
  if (auto whole = shortest_ways(way_graph(true), from_gpu)[to_gpu])
    changes_.throw_no_way(*this, *whole, from_gpu, to_gpu);
  throw_no_way(*this, from_gpu, to_gpu);
}

// The first switch with a link to the GPU that adds up and multicasts.
std::optional<Route> GraphCluster::multicast(int gpu, bool towards) const {
  for (int v = plan_->gpus; v < static_cast<int>(plan_->vertices.size()); ++v) {
    if (!plan_->vertices[v].multicast) continue;
    auto id = towards ? link_between(gpu, v) : link_between(v, gpu);
    if (id && !changes_.broken(*id)) return Route{{*id}, link(*id).latency, link(*id).bandwidth};
  }
  return std::nullopt;
}

ClusterGraph GraphCluster::graph() const {
  ClusterGraph graph;
  for (int v = 0; v < static_cast<int>(plan_->vertices.size()); ++v) {
    const auto& vertex = plan_->vertices[v];
    graph.vertices.push_back({vertex.name, vertex.kind, vertex.node, v < gpus_ ? v : -1});
  }
  for (int i = 0; i < links(); ++i)
    graph.edges.push_back({plan_->wires[i].from, plan_->wires[i].to, i, link(i), changes_.broken(i)});
  return graph;
}

}  // namespace ddpsim
