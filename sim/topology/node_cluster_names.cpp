// What the links and vertices of a cluster of nodes are called, and what a name stands for.
#include <algorithm>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/topology/names.hpp"
#include "sim/topology/node_cluster.hpp"

namespace ddpsim {

std::pair<NodeCluster::Place, NodeCluster::Place> NodeCluster::ends(int id) const {
  if (id >= fabric_base_) {
    auto [from, to, cable] = tree_->ends(id - fabric_base_);
    return {{-1, from}, {-1, to}};
  }
  auto [node, index] = local(id);
  const auto& node_model = model(node);
  int cable = index - static_cast<int>(node_model.wires.size());
  if (cable < 0) {
    const auto& wire = node_model.wires[index];
    return {{node, wire.from}, {node, wire.to}};
  }
  if (!tree_)
    return {{node, node_model.nic_vertex(cable)},
            {(node + 1) % nodes_, model((node + 1) % nodes_).nic_vertex(cable)}};
  int nic = cable / 2;
  Place inside{node, node_model.nic_vertex(nic)}, leaf{-1, tree_->leaf_of(node, nic)};
  return cable % 2 == 0 ? std::pair{inside, leaf} : std::pair{leaf, inside};
}

std::string NodeCluster::place_name(const Place& place) const {
  if (place.node < 0) return tree_->name(place.index);
  return fmt::format("node{}.{}", place.node, model(place.node).names[place.index]);
}

std::string NodeCluster::link_name(int id) const {
  if (id >= fabric_base_) return tree_->link_name(id - fabric_base_);
  auto [from, to] = ends(id);
  return place_name(from) + ">" + place_name(to);
}

std::optional<NodeCluster::Place> NodeCluster::place_named(const std::string& name) const {
  if (tree_)
    if (auto found = tree_->switch_named(name)) return Place{-1, *found};
  auto dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  auto node = number_after("node", name.substr(0, dot));
  if (!node || *node >= nodes_) return std::nullopt;
  auto vertex = model(*node).vertex_named(name.substr(dot + 1));
  return vertex ? std::optional(Place{*node, *vertex}) : std::nullopt;
}

std::optional<int> NodeCluster::link_between(const Place& from, const Place& to, int cable) const {
  if (from.node < 0 && to.node < 0) {
    auto link = tree_->link_between(from.index, to.index, cable);
    return link ? std::optional(fabric_base_ + *link) : std::nullopt;
  }
  if (from.node == to.node) {
    const auto& wires = model(from.node).wires;
    for (std::size_t i = 0; i < wires.size(); ++i)
      if (wires[i].from == from.index && wires[i].to == to.index)
        return first_link(from.node) + static_cast<int>(i);
  }
  for (const auto& [cabled, outwards] : {std::pair(from, true), std::pair(to, false)}) {  // a NIC's cable
    if (cabled.node < 0) continue;
    int nic = cabled.index - model(cabled.node).gpus;
    if (nic < 0 || nic >= model(cabled.node).nics) continue;
    auto link = outwards ? nic_out(cabled.node, nic) : nic_in(cabled.node, nic);
    if (link && ends(*link) == std::pair(from, to)) return link;
  }
  return std::nullopt;
}

// "node3.nic1" stands for both directions of its cable, "node3.nic1.out" and ".in" for one; "node3" for the
// cables of all its NICs.
std::vector<int> NodeCluster::nic_links(const std::string& name) const {
  std::vector<int> links;
  auto add = [&links](std::optional<int> link) {
    if (link) links.push_back(*link);
  };
  if (auto node = number_after("node", name); node && *node < nodes_) {
    for (int nic = 0; nic < model(*node).nics; ++nic) add(nic_out(*node, nic)), add(nic_in(*node, nic));
    return links;
  }
  bool out = !name.ends_with(".in"), in = !name.ends_with(".out");
  auto place = place_named(out && in ? name : name.substr(0, name.rfind('.')));
  if (!place || place->node < 0) return {};
  int nic = place->index - model(place->node).gpus;
  if (nic < 0 || nic >= model(place->node).nics) return {};
  if (out) add(nic_out(place->node, nic));
  if (in) add(nic_in(place->node, nic));
  return links;
}

std::vector<int> NodeCluster::links_named(const std::string& name, const SourceSpan& place) const {
  if (auto links = nic_links(name); !links.empty()) return links;
  auto dot = name.rfind('.');
  int cable = dot == std::string::npos ? -1 : number_after("", name.substr(dot + 1)).value_or(-1);
  for (const auto& [from_name, to_name, both_ways] : possible_ends(cable >= 0 ? name.substr(0, dot) : name)) {
    auto from = place_named(from_name), to = place_named(to_name);
    if (!from || !to) continue;
    bool has_cables = from->node < 0 && to->node < 0 && tree_->cables(std::min(from->index, to->index)) > 1;
    if ((cable >= 0) != has_cables) continue;
    std::vector<int> links;
    if (auto link = link_between(*from, *to, std::max(cable, 0))) links.push_back(*link);
    if (auto link = link_between(*to, *from, std::max(cable, 0)); link && both_ways) links.push_back(*link);
    if (!links.empty()) return links;
  }
  throw_unknown(name, place);
}

// Suggests only links of the node the name begins with, or of the first one: never a list of the whole
// cluster.
void NodeCluster::throw_unknown(const std::string& name, const SourceSpan& place) const {
  auto node = number_after("node", name.substr(0, name.find('.')));
  if (node && *node >= nodes_)
    throw InputError(place,
                     fmt::format("there is no link '{}': {} are {} of {}", name, counted(gpus_, "GPU"),
                                 counted(nodes_, "node"), gpus_per_node_),
                     fmt::format("the last node is node{}", nodes_ - 1));
  int near = node.value_or(0);
  std::vector<std::string> candidates;
  for (int nic = 0; nic < model(near).nics; ++nic)
    if (nic_out(near, nic)) candidates.push_back(place_name({near, model(near).nic_vertex(nic)}));
  for (const auto& ports : model(near).devices)
    for (const auto& device : ports) candidates.push_back(fmt::format("node{}.{}", near, device));
  const char* sign = name.find('>') == std::string::npos ? "-" : ">";
  for (int i = 0; i < links_of(model(near)); ++i) {
    auto [from, to] = ends(first_link(near) + i);
    candidates.push_back(place_name(from) + sign + place_name(to));
  }
  for (int i = 0; tree_ && i < std::min(tree_->links(), 64); ++i) {
    auto candidate = tree_->link_name(i);
    candidate.replace(candidate.find('>'), 1, sign);
    candidates.push_back(std::move(candidate));
  }
  std::string hint = links() > 0 ? "links are called like " + link_name(0) : "this cluster has no links";
  if (model(0).nics > 0 && nic_out(0, 0)) hint += ", the cables of a NIC node0.nic0";
  if (const auto& devices = model(0).devices; !devices.empty())
    hint += fmt::format(" or node0.{}", devices.front().front());
  throw_unknown_link(name, place, candidates, hint);
}

ClusterGraph NodeCluster::graph() const {
  ClusterGraph graph;
  std::vector<int> first_vertex;
  for (int node = 0; node < nodes_; ++node) {
    const auto& node_model = model(node);
    first_vertex.push_back(static_cast<int>(graph.vertices.size()));
    for (int v = 0; v < static_cast<int>(node_model.names.size()); ++v) {
      auto kind = v < node_model.gpus                     ? ClusterGraph::Kind::gpu
                  : v < node_model.gpus + node_model.nics ? ClusterGraph::Kind::nic
                                                          : ClusterGraph::Kind::node_switch;
      int gpu = node * gpus_per_node_ + v;
      graph.vertices.push_back(
          {place_name({node, v}), kind, node, kind == ClusterGraph::Kind::gpu && gpu < gpus_ ? gpu : -1});
    }
    for (int nic = 0; nic < node_model.nics; ++nic)
      for (int vertex : node_model.plugged[nic]) {
        int a = first_vertex.back() + node_model.nic_vertex(nic), b = first_vertex.back() + vertex;
        graph.edges.push_back({a, b, -1});
        graph.edges.push_back({b, a, -1});
      }
  }
  int first_switch = static_cast<int>(graph.vertices.size());
  for (int i = 0; tree_ && i < tree_->switches(); ++i)
    graph.vertices.push_back({tree_->name(i), ClusterGraph::Kind::fabric_switch, -1, -1});
  auto vertex = [&](const Place& p) { return p.index + (p.node < 0 ? first_switch : first_vertex[p.node]); };
  for (int id = 0; id < links(); ++id) {
    auto [from, to] = ends(id);
    graph.edges.push_back({vertex(from), vertex(to), id, link(id), changes_.broken(id)});
  }
  return graph;
}

}  // namespace ddpsim
