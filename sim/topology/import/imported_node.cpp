#include "sim/topology/import/imported_node.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "sim/topology/import/figures.hpp"

namespace ddpsim {
namespace {

using Kind = ImportedNode::Kind;

std::vector<int> with_ancestors(const ImportedNode& node, int v) {
  std::vector<int> all;
  for (; v >= 0; v = node.vertices[v].parent) all.push_back(v);
  return all;
}

std::string_view prefix(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames{"gpu", "nic", "pcie", "host", "numa"};
  return kNames[static_cast<std::size_t>(kind)];
}

// How a GPU hangs in a regular tree: a switch of its own or shared, one link up to a root.
struct Place {
  int group;  // the vertex that stands for the switch
  int root;
  BytesPerSecond gpu_link, host_link;
  Medium medium;  // of the link to the root
};

std::optional<Place> place_of(const ImportedNode& node, int gpu, const std::vector<int>& gpus_below) {
  const auto& all = node.vertices;
  int top = gpu;
  Place place{gpu, -1, all[gpu].up, all[gpu].up, Medium::host_bridge};
  if (all[all[gpu].parent].kind == Kind::pcie_switch) {
    place.group = top = all[gpu].parent;
    place.host_link = all[top].up;
    // Switches above that lead to no other GPUs are part of the one link up.
    for (int above = all[top].parent; all[above].kind == Kind::pcie_switch; above = all[top].parent) {
      if (gpus_below[above] != gpus_below[top]) return std::nullopt;
      top = above;
      place.host_link = std::min(place.host_link, all[top].up);
    }
  }
  place.root = all[top].parent;
  if (int numa = all[place.root].parent; numa >= 0) {  // its own host bridge, then the NUMA node
    if (gpus_below[place.root] != gpus_below[top]) return std::nullopt;
    place.host_link = std::min(place.host_link, all[place.root].up);
    place.root = numa;
    place.medium = Medium::numa_node;
  }
  return place;
}

// Of `length` each, all full but the last.
bool is_in_runs(const std::vector<int>& list, int length) {
  auto run = [length](std::size_t i) { return i / static_cast<std::size_t>(length); };
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = i + 1; j < list.size(); ++j)
      if ((list[i] == list[j]) != (run(i) == run(j))) return false;
  return true;
}

int count_same(const std::vector<int>& list) {
  return static_cast<int>(std::count(list.begin(), list.end(), list.front()));
}

}  // namespace

void ImportedNode::finish() {
  std::array<int, 5> counts{};
  std::vector<int> kept;
  auto keep = [&](int v) {
    auto& vertex = vertices[v];
    if (!vertex.name.empty()) return;
    vertex.name = fmt::format("{}{}", prefix(vertex.kind), counts[static_cast<std::size_t>(vertex.kind)]++);
    kept.push_back(v);
  };
  for (const auto* list : {&gpus, &nics})
    for (int v : *list) keep(v);
  for (const auto* list : {&gpus, &nics})
    for (int v : *list)
      for (int above : with_ancestors(*this, v)) keep(above);
  std::vector<int> number(vertices.size(), -1);
  std::vector<Vertex> named;
  for (int v : kept) {
    number[v] = static_cast<int>(named.size());
    named.push_back(std::move(vertices[v]));
  }
  for (auto& vertex : named)
    if (vertex.parent >= 0) vertex.parent = number[vertex.parent];
  vertices = std::move(named);
  for (auto* list : {&gpus, &nics})
    for (int& v : *list) v = number[v];
}

PcieClass pcie_class(const ImportedNode& node, int a, int b) {
  auto up_a = with_ancestors(node, a), up_b = with_ancestors(node, b);
  for (std::size_t i = 1; i < up_a.size(); ++i)
    for (std::size_t j = 1; j < up_b.size(); ++j)
      if (up_a[i] == up_b[j]) switch (node.vertices[up_a[i]].kind) {
          case Kind::numa_node:
            return PcieClass::node;
          case Kind::host_bridge:
            return PcieClass::phb;
          default:
            return i == 1 && j == 1 ? PcieClass::pix : PcieClass::pxb;
        }
  return PcieClass::sys;
}

std::string_view name(PcieClass pcie_class) {
  constexpr std::array<std::string_view, 5> kNames{"PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(pcie_class)];
}

std::optional<PcieTree> regular_tree(const ImportedNode& node) {
  std::vector<int> gpus_below(node.vertices.size(), 0);
  for (int gpu : node.gpus)
    for (int v : with_ancestors(node, gpu)) ++gpus_below[v];
  std::vector<int> groups, roots, roots_of_groups;
  std::optional<Place> first;
  std::optional<Medium> medium;
  for (int gpu : node.gpus) {
    auto place = place_of(node, gpu, gpus_below);
    if (!place) return std::nullopt;
    if (!first) first = place;
    if (place->gpu_link != first->gpu_link || place->host_link != first->host_link) return std::nullopt;
    if (std::find(groups.begin(), groups.end(), place->group) == groups.end())
      roots_of_groups.push_back(place->root);
    groups.push_back(place->group);
    roots.push_back(place->root);
    // Between GPUs below one root, but not below one switch, the medium is what tells PHB from NODE.
    if (gpus_below[place->root] == gpus_below[place->group]) continue;
    if (medium.value_or(place->medium) != place->medium) return std::nullopt;
    medium = place->medium;
  }
  PcieTree tree;
  tree.gpu = {first->gpu_link, kPcieLatency};
  tree.gpus_per_switch = count_same(groups);
  tree.switches_per_socket = count_same(roots_of_groups);
  if (!is_in_runs(groups, tree.gpus_per_switch) ||
      !is_in_runs(roots, tree.gpus_per_switch * tree.switches_per_socket))
    return std::nullopt;
  if (roots_of_groups.size() > 1) tree.host = Link{first->host_link, kPcieLatency};
  if (roots.front() != roots.back()) tree.socket = Link{node.socket, kPcieLatency};
  tree.host_medium = medium.value_or(Medium::host_bridge);
  return tree;
}

}  // namespace ddpsim
