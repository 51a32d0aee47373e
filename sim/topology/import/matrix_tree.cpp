// From classes to a tree: devices joined by PIX or nearer are below one switch, by PXB or nearer below one
// switch of switches, and so on up to NODE; what is left is SYS.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>

#include "sim/topology/import/matrix.hpp"

namespace ddpsim {
namespace {

using Kind = ImportedNode::Kind;

constexpr std::array kLevels{PcieClass::pix, PcieClass::pxb, PcieClass::phb, PcieClass::node};

// Of each device the first device of its group.
using Groups = std::vector<std::size_t>;

void join(Groups& groups, std::size_t a, std::size_t b) {
  auto [low, high] = std::minmax(groups[a], groups[b]);
  std::replace(groups.begin(), groups.end(), std::size_t{high}, std::size_t{low});
}

class TreeBuilder {
 public:
  TreeBuilder(const Matrix& matrix, BytesPerSecond link, ImportedNode& node)
      : matrix_(matrix), link_(link), node_(node), n_(matrix.devices.size()) {
    for (std::size_t level = 0; level < kLevels.size(); ++level) groups_[level] = group(kLevels[level]);
  }

  // GPUs whose class is hidden, or not said, everywhere between two groups.
  bool join_hidden() {
    bool joined = false, node_level = false;
    for (const auto& cell : matrix_.cells) node_level = node_level || cell.pcie == PcieClass::node;
    for (std::size_t b = 0; b < n_; ++b)
      for (std::size_t a = 0; a < b; ++a) {
        auto& top = groups_.back();
        if (top[a] != a || top[b] != b || !nothing_speaks_against(a, b)) continue;
        for (std::size_t level = node_level ? 3 : 2; level < kLevels.size(); ++level)
          join(groups_[level], a, b);
        joined = joined || b < matrix_.gpus;
        break;
      }
    return joined;
  }

  void build() {
    for (std::size_t device = 0; device < n_; ++device) {
      bool gpu = device < matrix_.gpus;
      const auto& original = gpu ? matrix_.devices[device].text : matrix_.nic_legend[device - matrix_.gpus];
      (gpu ? node_.gpus : node_.nics).push_back(static_cast<int>(node_.vertices.size()));
      node_.vertices.push_back(
          {gpu ? Kind::gpu : Kind::nic, -1, link_, original, matrix_.devices[device].span});
      node_.vertices.back().card =
          static_cast<int>(device);  // the matrix does not say which are ports of one
    }
    for (std::size_t device = 0; device < n_; ++device) node_.vertices[device].parent = parent(device);
  }

 private:
  [[nodiscard]] Groups group(PcieClass level) const {
    Groups groups(n_);
    for (std::size_t a = 0; a < n_; ++a) groups[a] = a;
    for (std::size_t a = 0; a < n_; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (auto pcie = matrix_.at(a, b).pcie; pcie && *pcie <= level) join(groups, a, b);
    for (std::size_t a = 0; a < n_; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (auto pcie = matrix_.at(a, b).pcie; pcie && *pcie > level && groups[a] == groups[b])
          throw InputError(
              matrix_.at(a, b).place,
              fmt::format("{} and {} are {}, but {} or nearer by way of other devices",
                          matrix_.devices[a].text, matrix_.devices[b].text, name(*pcie), name(level)),
              "PCIe is a tree: compare the rows of the two");
    return groups;
  }

  // Between the groups of two devices no class is known, and no NUMA affinity differs.
  [[nodiscard]] bool nothing_speaks_against(std::size_t a, std::size_t b) const {
    const auto& top = groups_.back();
    for (std::size_t x = 0; x < n_; ++x)
      for (std::size_t y = 0; y < n_; ++y) {
        if (top[x] != a || top[y] != b) continue;
        if (matrix_.at(x, y).pcie) return false;
        if (std::max(x, y) < matrix_.gpus && !matrix_.numa[x].empty() && !matrix_.numa[y].empty() &&
            matrix_.numa[x] != matrix_.numa[y])
          return false;
      }
    return true;
  }

  // How many groups of a lower level there are in the group of a higher one.
  [[nodiscard]] int parts(std::size_t lower, std::size_t higher, std::size_t device) const {
    int count = 0;
    for (std::size_t x = 0; x < n_; ++x)
      count += groups_[higher][x] == groups_[higher][device] && groups_[lower][x] == x ? 1 : 0;
    return count;
  }

  int parent(std::size_t device) {
    bool several = parts(0, 1, device) > 1;  // switches below a switch
    bool shared = std::count(groups_[0].begin(), groups_[0].end(), groups_[0][device]) > 1;
    int up = host(device);
    if (several) up = vertex(Kind::pcie_switch, 1, device, up);
    return several || shared ? vertex(Kind::pcie_switch, 0, device, up) : up;
  }

  int host(std::size_t device) {
    int numa = parts(2, 3, device) > 1 ? vertex(Kind::numa_node, 3, device, -1) : -1;
    return vertex(Kind::host_bridge, 2, device, numa);
  }

  // The vertex that stands for a group.
  int vertex(Kind kind, std::size_t level, std::size_t device, int parent) {
    auto [it, added] =
        vertices_.try_emplace({level, groups_[level][device]}, static_cast<int>(node_.vertices.size()));
    if (added) node_.vertices.push_back({kind, parent, link_});
    return it->second;
  }

  const Matrix& matrix_;
  BytesPerSecond link_;
  ImportedNode& node_;
  std::size_t n_;
  std::array<Groups, kLevels.size()> groups_;
  std::map<std::pair<std::size_t, std::size_t>, int> vertices_;  // by level and group
};

}  // namespace

bool add_pcie_tree(const Matrix& matrix, BytesPerSecond link, ImportedNode& node) {
  TreeBuilder builder(matrix, link, node);
  bool assumed = builder.join_hidden();
  builder.build();
  return assumed;
}

}  // namespace ddpsim
