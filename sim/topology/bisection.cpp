#include "sim/topology/bisection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include "sim/topology/cluster_graph.hpp"

namespace ddpsim {
namespace {

using Kind = ClusterGraph::Kind;
using Capacity = std::int64_t;  // bytes per second

// Capacities between numbered vertices; parallel ones add up.
class FlowNetwork {
 public:
  int add_vertex() { return vertices_++; }
  void add(int from, int to, Capacity capacity) { capacities_[{from, to}] += capacity; }

  [[nodiscard]] Capacity max_flow(int source, int sink) const {
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    struct Arc {
      Capacity capacity, residual;
      Traits::edge_descriptor reverse;
    };
    using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;
    Graph graph(static_cast<std::size_t>(vertices_));
    for (const auto& [ends, capacity] : capacities_) {
      auto there = boost::add_edge(ends.first, ends.second, Arc{capacity, 0, {}}, graph).first;
      auto back = boost::add_edge(ends.second, ends.first, Arc{0, 0, there}, graph).first;
      graph[there].reverse = back;
    }
    return boost::push_relabel_max_flow(graph, static_cast<std::size_t>(source),
                                        static_cast<std::size_t>(sink), boost::get(&Arc::capacity, graph),
                                        boost::get(&Arc::residual, graph), boost::get(&Arc::reverse, graph),
                                        boost::get(boost::vertex_index, graph));
  }

 private:
  int vertices_ = 0;
  std::map<std::pair<int, int>, Capacity> capacities_;
};

enum class Side { sends, receives, both };

class Halves {
 public:
  Halves(const Cluster& cluster, bool merge) : cluster_(cluster), graph_(cluster.graph()), merge_(merge) {
    half_ = cluster.gpus() / 2;
    for (const auto& vertex : graph_.vertices) {
      if (vertex.gpu < 0) continue;
      auto side = vertex.gpu < half_ ? Side::sends : Side::receives;
      auto [it, first] = sides_.try_emplace(vertex.node, side);
      if (!first && it->second != side) it->second = Side::both;
    }
  }

  BytesPerSecond flow() {
    number_vertices();
    for (const auto& edge : graph_.edges) add(edge);
    int source = network_.add_vertex(), sink = network_.add_vertex();
    for (std::size_t v = 0; v < graph_.vertices.size(); ++v) {
      const auto& vertex = graph_.vertices[v];
      if (vertex.gpu < 0) continue;
      if (vertex.gpu < half_)
        network_.add(source, outgoing_[v], carried_[v]);
      else
        network_.add(outgoing_[v], sink, carried_[v]);
    }
    return BytesPerSecond(static_cast<double>(network_.max_flow(source, sink)));
  }

 private:
  // Nodes that are wired alike, on the same side and below the same switches become one with the capacity of
  // all: a flow can always be spread evenly over them.
  void number_vertices() {
    auto cabled_to = fabric_neighbours();
    std::map<std::vector<int>, std::vector<int>> numbers;  // what a node looks like -> its vertices
    auto vertices = static_cast<int>(graph_.vertices.size());
    outgoing_.resize(graph_.vertices.size());
    incoming_.resize(graph_.vertices.size());
    carried_.assign(graph_.vertices.size(), 0);
    for (int begin = 0, end = 0; begin < vertices; begin = end) {
      int node = graph_.vertices[begin].node;
      std::vector<int> looks{node};
      if (merge_ && node >= 0 && sides_.contains(node) && sides_.at(node) != Side::both)
        looks = {-2, cluster_.like_node(node), static_cast<int>(sides_.at(node))};
      if (node < 0) looks.push_back(begin);
      while (end < vertices && graph_.vertices[end].node == node && (node >= 0 || end == begin)) {
        looks.insert(looks.end(), cabled_to[end].begin(), cabled_to[end].end());
        ++end;
      }
      auto [it, first] = numbers.try_emplace(std::move(looks));
      for (int i = 0; first && i < 2 * (end - begin); ++i) it->second.push_back(network_.add_vertex());
      for (int v = begin; v < end; ++v) {
        outgoing_[v] = it->second[2 * (v - begin)];
        // A NIC does not pass on what comes from the network: it is one vertex for each direction.
        incoming_[v] = plugged_[v] ? it->second[2 * (v - begin) + 1] : outgoing_[v];
      }
    }
  }

  std::vector<std::vector<int>> fabric_neighbours() {
    std::vector<std::vector<int>> neighbours(graph_.vertices.size());
    plugged_.assign(graph_.vertices.size(), 0);
    for (const auto& edge : graph_.edges) {
      const auto &from = graph_.vertices[edge.from], &to = graph_.vertices[edge.to];
      if (edge.link < 0 && from.kind == Kind::nic) plugged_[edge.from] = 1;
      if (from.node == to.node) continue;
      if (from.node >= 0) neighbours[edge.from].push_back(edge.to);
      if (to.node >= 0) neighbours[edge.to].push_back(edge.from);
    }
    return neighbours;
  }

  [[nodiscard]] bool is_idle_gpu(int v) const {
    return graph_.vertices[v].kind == Kind::gpu && graph_.vertices[v].gpu < 0;
  }

  [[nodiscard]] bool is_on(Side side, int node) const {
    auto found = sides_.find(node);
    return node >= 0 && found != sides_.end() && found->second == side;
  }

  // Nothing need come into nodes that only send, or leave those that only receive. (A switch of a graph is in
  // no node, but may well be inside one.)
  [[nodiscard]] bool is_needless(const ClusterGraph::Vertex& from, const ClusterGraph::Vertex& to) const {
    auto is_outside = [](const auto& one) { return one.node < 0 && one.kind != Kind::fabric_switch; };
    if (from.node == to.node || is_outside(from) || is_outside(to)) return false;
    return is_on(Side::sends, to.node) || is_on(Side::receives, from.node);
  }

  void add(const ClusterGraph::Edge& edge) {
    const auto &from = graph_.vertices[edge.from], &to = graph_.vertices[edge.to];
    if (edge.broken || is_idle_gpu(edge.from) || is_idle_gpu(edge.to)) return;
    bool fabric = from.kind == Kind::fabric_switch || to.kind == Kind::fabric_switch;
    if (fabric && cluster_.nodes() == 1) return;  // traffic inside a node does not leave it
    if (is_needless(from, to)) return;
    constexpr double kPlugged = 1e15, kMost = 1e15;
    double bandwidth = edge.link < 0 ? kPlugged : std::min(edge.figures.bandwidth.value(), kMost);
    auto capacity = static_cast<Capacity>(std::llround(bandwidth));
    bool inwards = edge.link < 0 && from.kind == Kind::nic;
    bool from_network = edge.link >= 0 && to.kind == Kind::nic;
    network_.add(inwards ? incoming_[edge.from] : outgoing_[edge.from],
                 from_network ? incoming_[edge.to] : outgoing_[edge.to], capacity);
    carried_[edge.from] += capacity;
    carried_[edge.to] += capacity;
  }

  const Cluster& cluster_;
  ClusterGraph graph_;
  bool merge_;
  int half_;
  std::map<int, Side> sides_;  // of each node with GPUs in use
  FlowNetwork network_;
  std::vector<int> outgoing_, incoming_;
  std::vector<char> plugged_;
  std::vector<Capacity> carried_;  // by the links of a vertex, more than which a GPU need not send
};

}  // namespace

BytesPerSecond bisection_bandwidth(const Cluster& cluster) {
  return cluster.gpus() < 2 ? BytesPerSecond(0) : Halves(cluster, true).flow();
}

BytesPerSecond unmerged_bisection_bandwidth(const Cluster& cluster) {
  return cluster.gpus() < 2 ? BytesPerSecond(0) : Halves(cluster, false).flow();
}

}  // namespace ddpsim
