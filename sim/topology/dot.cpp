// Graphviz.
#include <map>

#include <fmt/core.h>

#include "sim/base/double_quoted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/describe.hpp"

namespace ddpsim {
namespace {

using Kind = ClusterGraph::Kind;
constexpr std::size_t kMostVertices = 4096;

std::string_view shape(Kind kind) {
  return kind == Kind::gpu ? "box" : kind == Kind::nic ? "component" : "ellipse";
}

std::string vertex_lines(const ClusterGraph& graph) {
  std::map<int, std::string> boxes;  // by node; -1 stands in none
  for (const auto& vertex : graph.vertices)
    boxes[vertex.node] += fmt::format(
        "  {}{} [shape={}{}];\n", vertex.node < 0 ? "" : "  ", double_quoted(vertex.name), shape(vertex.kind),
        vertex.kind == Kind::gpu && vertex.gpu < 0 ? ", color=gray, fontcolor=gray" : "");
  std::string out;
  for (const auto& [node, lines] : boxes)
    out += node < 0
               ? lines
               : fmt::format("  subgraph cluster_node{0} {{\n    label=\"node{0}\";\n{1}  }}\n", node, lines);
  return out;
}

// The opposite direction, if it looks the same; both then are one line with two heads.
const ClusterGraph::Edge* twin(const ClusterGraph::Edge& edge,
                               const std::map<std::pair<int, int>, const ClusterGraph::Edge*>& by_ends) {
  auto it = by_ends.find({edge.to, edge.from});
  if (it == by_ends.end()) return nullptr;
  const auto& other = *it->second;
  bool same = other.broken == edge.broken && (other.link < 0) == (edge.link < 0) &&
              other.figures.bandwidth == edge.figures.bandwidth;
  return same ? &other : nullptr;
}

std::string edge_lines(const ClusterGraph& graph) {
  std::map<std::pair<int, int>, const ClusterGraph::Edge*> by_ends;
  for (const auto& edge : graph.edges) by_ends[{edge.from, edge.to}] = &edge;
  std::string out;
  for (const auto& edge : graph.edges) {
    const auto* other = twin(edge, by_ends);
    if (other && other < &edge) continue;
    std::string look = other ? "dir=both" : "dir=forward";
    if (edge.link < 0)
      look = "style=dotted, dir=none";
    else
      look += fmt::format(", label=\"{}\"", format_bandwidth(edge.figures.bandwidth));
    if (edge.broken) look += ", style=dashed, color=red, fontcolor=red";
    out += fmt::format("  {} -> {} [{}];\n", double_quoted(graph.vertices[edge.from].name),
                       double_quoted(graph.vertices[edge.to].name), look);
  }
  return out;
}

}  // namespace

std::string to_dot(const Cluster& cluster) {
  bool too_large = static_cast<std::size_t>(cluster.gpus()) > kMostVertices;
  ClusterGraph graph = too_large ? ClusterGraph{} : cluster.graph();
  if (too_large || graph.vertices.size() > kMostVertices)
    throw InputError(
        fmt::format("{} GPUs are too many to draw: more than {} vertices", cluster.gpus(), kMostVertices),
        "draw a smaller cluster of the same topology");
  return "digraph cluster {\n  compound=true;\n" + vertex_lines(graph) + edge_lines(graph) + "}\n";
}

}  // namespace ddpsim
