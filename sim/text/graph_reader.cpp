#include <algorithm>

#include <fmt/core.h>

#include "sim/base/suggest.hpp"
#include "sim/job/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim::graph_keys {
namespace {

using namespace keys;

struct Named {
  std::string name = {};
  int node = 0;
  bool multicast = false;
};

struct Wire {
  std::vector<std::string> between = {};
  std::string from = {}, to = {};
  Link link = {};
  int count = 1;
  std::optional<Medium> medium = {};
};

struct GraphFile : TopologyFile {
  std::vector<Named> gpus = {}, switches = {}, nics = {};
  std::vector<Value> links = {};
  nccl::PcieHost pcie = {};
};

Type<std::vector<Named>> vertices(const char* key) {
  return list(nested(Rows<Named>(key)
                         .needs<&Named::name>("name", text(), "Its own")
                         .key<&Named::node>("node", whole(0, kLargestWorldSize - 1), "Where it is")));
}

Type<GraphFile> graph_rows() {
  using F = GraphFile;
  auto switches = list(nested(Rows<Named>("switches")
                                  .needs<&Named::name>("name", text(), "Its own")
                                  .key<&Named::multicast>("multicast", boolean(), "It adds and multicasts")));
  using Host = nccl::PcieHost;
  auto pcie = nested(Rows<Host>("pcie")
                         .key<&Host::level>("peer_to_peer", job::peer_to_peer(), "As NCCL_P2P_LEVEL")
                         .key<&Host::numa_domains>("numa", maybe(whole(1, 16)), "NUMA domains of a socket"));
  return nested(topology_rows<F>("graph")
                    .needs<&F::gpus>("gpus", vertices("gpus"), "In order")
                    .key<&F::switches>("switches", switches, "That forward")
                    .key<&F::nics>("nics", vertices("nics"), "That forward")
                    .needs<&F::links>("links", list(any()), "Between any of these")
                    .key<&F::pcie>("pcie", pcie, "What NCCL's transports find there")
                    .key<&TopologyFile::overrides>("overrides", link_override_rows(), "Links that differ"));
}

Type<Wire> wire_rows(Rows<Wire> ends) {
  auto medium = word(config::Words<Medium>{{"nvlink", Medium::nvlink},
                                           {"xgmi", Medium::xgmi},
                                           {"pcie", Medium::pcie},
                                           {"host_bridge", Medium::host_bridge},
                                           {"numa_node", Medium::numa_node},
                                           {"socket", Medium::socket},
                                           {"network", Medium::network}});
  return nested(ends.needs<&Wire::link, &Link::bandwidth>("bandwidth", bandwidth(), "Of one")
                    .needs<&Wire::link, &Link::latency>("latency", time(), "Of one")
                    .key<&Wire::count>("count", whole(1, 1024), "In parallel")
                    .key<&Wire::medium>("medium", maybe(medium), "What it is made of"));
}

Type<Wire> both_ways_rows() {
  return wire_rows(Rows<Wire>("links").needs<&Wire::between>("between", list(text()), "Both ways"));
}
Type<Wire> one_way_rows() {
  return wire_rows(Rows<Wire>("links")
                       .needs<&Wire::from>("from", text(), "One way")
                       .needs<&Wire::to>("to", text(), "One way"));
}

Wire read_wire(const Value& value, keys::Places& places) {
  static const auto both_ways = both_ways_rows(), one_way = one_way_rows();
  config::check_map(value, "links");
  bool is_both = value.find("between") != nullptr;
  if (!is_both && !value.find("from"))
    throw InputError(value.span, "'links' lacks the key 'between'",
                     "add 'between: [A, B]', or 'from: A' and 'to: B' for one direction");
  auto wire = read_alone(is_both ? both_ways : one_way, value, places);
  if (is_both && wire.between.size() != 2)
    throw InputError(places.at("between"),
                     fmt::format("a link is between two vertices, not {}", wire.between.size()),
                     "write it like [A, B]");
  return wire;
}

}  // namespace
}  // namespace ddpsim::graph_keys

namespace ddpsim {
namespace {

using config::Value;

class GraphReader {
 public:
  GraphReader(GraphPlan& plan, const keys::Places& places) : plan_(plan), places_(places) {}

  void add_vertices(const std::vector<graph_keys::Named>& list, ClusterGraph::Kind kind, const char* key) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      GraphPlan::Vertex vertex{list[i].name, kind, -1};
      if (kind != ClusterGraph::Kind::node_switch) vertex.node = list[i].node;
      vertex.multicast = list[i].multicast;
      add(std::move(vertex), places_.at(fmt::format("{}[{}].name", key, i)));
    }
  }

  void add_links(const Value& value) {
    keys::Places places;
    auto wire = graph_keys::read_wire(value, places);
    bool is_both = !wire.between.empty();
    int a = is_both ? vertex_of(wire.between[0], places.at("between[0]"))
                    : vertex_of(wire.from, places.at("from"));
    int b =
        is_both ? vertex_of(wire.between[1], places.at("between[1]")) : vertex_of(wire.to, places.at("to"));
    if (a == b)
      throw InputError(value.span, fmt::format("a link from {} to itself", plan_.vertices[a].name),
                       "name two vertices");
    Link link{wire.link.bandwidth * wire.count, wire.link.latency};
    Cable cable{wire.medium.value_or(usual_medium(a, b)), wire.count};
    add_wire(a, b, link, cable, value);
    if (is_both) add_wire(b, a, link, cable, value);
  }

  void check_connected() const {
    std::vector<int> group(plan_.vertices.size());  // of vertices known to be joined, by union-find
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = static_cast<int>(i);
    auto root = [&](int v) {
      while (group[v] != v) v = group[v] = group[group[v]];
      return v;
    };
    for (const auto& wire : plan_.wires) group[root(wire.from)] = root(wire.to);
    for (int gpu = 1; gpu < plan_.gpus; ++gpu)
      if (root(gpu) != root(0))
        throw InputError(
            places_.at(fmt::format("gpus[{}]", gpu)),
            fmt::format("no links join {} to {}", plan_.vertices[gpu].name, plan_.vertices[0].name),
            "add the links, or remove the GPU");
  }

 private:
  void add(GraphPlan::Vertex vertex, const SourceSpan& place) {
    if (vertex.name.find('>') != std::string::npos)
      throw InputError(place,
                       fmt::format("'{}' is no name: '>' stands between the ends of a link", vertex.name),
                       "use another character");
    auto number = static_cast<int>(plan_.vertices.size());
    if (!plan_.number.emplace(vertex.name, number).second)
      throw InputError(place, fmt::format("the name '{}' is taken", vertex.name),
                       "every GPU, switch and NIC has a name of its own");
    names_.push_back(vertex.name);
    plan_.vertices.push_back(std::move(vertex));
    if (plan_.vertices.size() > static_cast<std::size_t>(kMostGraphVertices))
      throw InputError(place, fmt::format("more than {} vertices", kMostGraphVertices),
                       "describe large clusters with 'kind: cluster'");
  }

  int vertex_of(const std::string& name, const SourceSpan& place) const {
    auto found = plan_.number.find(name);
    if (found == plan_.number.end())
      throw InputError(
          place, fmt::format("no GPU, switch or NIC is called '{}'{}", name, did_you_mean(name, names_)),
          "name it under 'gpus', 'switches' or 'nics'");
    return found->second;
  }

  void add_wire(int from, int to, const Link& link, const Cable& cable, const Value& value) {
    if (!known_.emplace(static_cast<std::int64_t>(from) * kMostGraphVertices * 2 + to, 0).second)
      throw InputError(value.span,
                       fmt::format("the link from {} to {} is given twice", plan_.vertices[from].name,
                                   plan_.vertices[to].name),
                       "several in parallel are one with 'count'");
    plan_.wires.push_back({from, to, link, cable});
  }

  // A guess from what is joined, where the file does not say.
  Medium usual_medium(int from, int to) const {
    bool gpus_only = true;
    for (int v : {from, to}) {
      const auto& vertex = plan_.vertices[v];
      if (vertex.kind == ClusterGraph::Kind::nic) return Medium::network;
      if (vertex.multicast) return Medium::nvlink;
      gpus_only = gpus_only && vertex.kind == ClusterGraph::Kind::gpu;
    }
    bool across = gpus_only && plan_.vertices[from].node != plan_.vertices[to].node;
    return across ? Medium::network : gpus_only ? Medium::nvlink : Medium::pcie;
  }

  GraphPlan& plan_;
  const keys::Places& places_;
  std::vector<std::string> names_;
  std::unordered_map<std::int64_t, int> known_;  // links by their ends
};

}  // namespace

file_rows::Codec file_rows::graph() {
  return graph_keys::graph_rows().codec;
}
file_rows::Codec file_rows::links() {
  return graph_keys::both_ways_rows().codec;
}
file_rows::Codec file_rows::one_way_links() {
  return graph_keys::one_way_rows().codec;
}

std::shared_ptr<Topology> read_graph(const Value& root, TopologyFile& common) {
  static const auto rows = graph_keys::graph_rows();
  keys::Places places;
  auto file = keys::read_alone(rows, root, places);
  common = file;
  auto plan = std::make_shared<GraphPlan>();
  GraphReader reader(*plan, places);
  reader.add_vertices(file.gpus, ClusterGraph::Kind::gpu, "gpus");
  plan->gpus = static_cast<int>(plan->vertices.size());
  plan->host = file.pcie;
  if (plan->gpus < 1 || plan->gpus > kMostGraphGpus)
    throw InputError(places.at("gpus"),
                     fmt::format("{} GPUs; a graph has 1 to {}", plan->gpus, kMostGraphGpus),
                     plan->gpus < 1 ? "name the GPUs" : "describe large clusters with 'kind: cluster'");
  reader.add_vertices(file.switches, ClusterGraph::Kind::node_switch, "switches");
  reader.add_vertices(file.nics, ClusterGraph::Kind::nic, "nics");
  for (const auto& item : file.links) reader.add_links(item);
  reader.check_connected();
  bool has_xgmi = std::ranges::any_of(
      plan->wires, [](const GraphPlan::Wire& wire) { return wire.cable.medium == Medium::xgmi; });
  auto topology = make_graph_topology(std::move(plan), std::move(file.overrides));
  topology->has_xgmi = has_xgmi;
  return topology;
}

}  // namespace ddpsim
