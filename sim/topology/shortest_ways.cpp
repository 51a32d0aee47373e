#include "sim/topology/shortest_ways.hpp"

#include <algorithm>
#include <limits>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

namespace ddpsim {
namespace {

constexpr BytesPerSecond kUnlimited(std::numeric_limits<double>::infinity());

// What Dijkstra's algorithm adds up and compares; a longer way is never better than the way it extends.
struct Cost {
  int links;
  BytesPerSecond bandwidth;
};
constexpr Cost kNothing{0, kUnlimited};
constexpr Cost kUnreachable{std::numeric_limits<int>::max(), BytesPerSecond(0)};

struct Better {
  bool operator()(const Cost& a, const Cost& b) const {
    return a.links != b.links ? a.links < b.links : a.bandwidth > b.bandwidth;
  }
};
struct Extended {
  Cost operator()(const Cost& way, const Cost& edge) const {
    return {way.links + edge.links, std::min(way.bandwidth, edge.bandwidth)};
  }
};

struct EdgeData {
  int index;  // into WayGraph::edges
  Cost cost;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, EdgeData>;

Graph boost_graph(const WayGraph& graph, int source) {
  Graph out(graph.forwards.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto& edge = graph.edges[i];
    if (edge.from != source && !graph.forwards[edge.from]) continue;
    Cost cost = edge.link < 0 ? kNothing : Cost{1, edge.figures.bandwidth};
    boost::add_edge(edge.from, edge.to, EdgeData{static_cast<int>(i), cost}, out);
  }
  return out;
}

// Remembers by which edge each vertex was last reached better than before.
struct RecordEdge : boost::base_visitor<RecordEdge> {
  using event_filter = boost::on_edge_relaxed;
  std::vector<int>* edge_into;
  explicit RecordEdge(std::vector<int>& edges) : edge_into(&edges) {}
  void operator()(Graph::edge_descriptor edge, const Graph& graph) const {
    (*edge_into)[boost::target(edge, graph)] = graph[edge].index;
  }
};

Route way_to(int vertex, int source, const WayGraph& graph, const std::vector<int>& edge_into) {
  Route way = to_itself();
  while (vertex != source) {
    const auto& edge = graph.edges[edge_into[vertex]];
    if (edge.link >= 0) {
      way.links.push_back(edge.link);
      way.latency += edge.figures.latency;
      way.bandwidth = std::min(way.bandwidth, edge.figures.bandwidth);
    }
    vertex = edge.from;
  }
  std::reverse(way.links.begin(), way.links.end());
  return way;
}

}  // namespace

std::vector<std::optional<Route>> shortest_ways(const WayGraph& graph, int source) {
  Graph searched = boost_graph(graph, source);
  auto vertices = graph.forwards.size();
  std::vector<Cost> costs(vertices, kUnreachable);
  std::vector<int> edge_into(vertices, -1);
  std::vector<boost::default_color_type> colors(vertices);
  auto numbers = boost::get(boost::vertex_index, searched);
  boost::dijkstra_shortest_paths(searched, static_cast<std::size_t>(source), boost::dummy_property_map(),
                                 boost::make_iterator_property_map(costs.begin(), numbers),
                                 boost::get(&EdgeData::cost, searched), numbers, Better{}, Extended{},
                                 kUnreachable, kNothing, boost::make_dijkstra_visitor(RecordEdge(edge_into)),
                                 boost::make_iterator_property_map(colors.begin(), numbers));
  std::vector<std::optional<Route>> ways(vertices);
  for (std::size_t v = 0; v < vertices; ++v)
    if (static_cast<int>(v) == source || edge_into[v] >= 0)
      ways[v] = way_to(static_cast<int>(v), source, graph, edge_into);
  return ways;
}

bool better_way(std::size_t links, BytesPerSecond bandwidth, std::size_t other_links,
                BytesPerSecond other_bandwidth) {
  return links != other_links ? links < other_links : bandwidth > other_bandwidth;
}

Route to_itself() {
  return {{}, Seconds(0), kUnlimited};
}

Route joined(const Route& first, const Route& second) {
  Route route = first;
  route.links.insert(route.links.end(), second.links.begin(), second.links.end());
  route.latency += second.latency;
  route.bandwidth = std::min(first.bandwidth, second.bandwidth);
  return route;
}

}  // namespace ddpsim
