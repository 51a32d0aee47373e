#include "sim/topology/import/nic_choice.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/one_line.hpp"

namespace ddpsim {
namespace {

BytesPerSecond speed_of(const ImportedNode::Vertex& nic, const TopologyImport& import) {
  if (nic.speed) return *nic.speed;
  if (import.nic_bandwidth) return *import.nic_bandwidth;
  throw InputError(nic.place, fmt::format("how fast is {}? The file does not say", one_line(nic.original)),
                   "say it: --nic-bandwidth 200Gbps");
}

// The nearest of `nics` to a GPU, in their order.
std::vector<int> nearest(const ImportedNode& node, int gpu, const std::vector<int>& nics) {
  std::vector<int> found;
  for (int nic : nics) {
    auto distance = pcie_class(node, gpu, nic);
    if (!found.empty() && distance > pcie_class(node, gpu, found.front())) continue;
    if (!found.empty() && distance < pcie_class(node, gpu, found.front())) found.clear();
    found.push_back(nic);
  }
  return found;
}

// `each` of its nearest NICs to every GPU, none to two; empty where that cannot be. Sets of nearest NICs are
// disjoint or one holds the other, as PCIe is a tree: whoever has the smallest set chooses first.
std::vector<std::vector<int>> shared_out(const std::vector<std::vector<int>>& near, std::size_t each) {
  std::vector<std::size_t> order(near.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return near[a].size() < near[b].size(); });
  std::vector<std::vector<int>> ports(near.size());
  std::vector<int> taken;
  for (auto gpu : order) {
    for (int nic : near[gpu])
      if (ports[gpu].size() < each && std::find(taken.begin(), taken.end(), nic) == taken.end()) {
        ports[gpu].push_back(nic);
        taken.push_back(nic);
      }
    if (ports[gpu].size() < each) return {};
  }
  return ports;
}

// What the PCIe links of a GPU and of its ports carry; the ports of one card have one link.
BytesPerSecond carried(const ImportedNode& node, int gpu, const std::vector<int>& ports,
                       BytesPerSecond port) {
  std::map<int, BytesPerSecond> cards;
  for (int nic : ports) {
    const auto& vertex = node.vertices[nic];
    auto& sum = cards[vertex.card];
    sum += port;
    if (vertex.up.value() > 0) sum = std::min(sum, vertex.up);
  }
  BytesPerSecond sum{};
  for (const auto& [card, bandwidth] : cards) sum += bandwidth;
  auto of_gpu = node.vertices[gpu].up;
  return std::max(port, of_gpu.value() > 0 ? std::min(sum, of_gpu) : sum);
}

// Fewer NICs than GPUs, or not as many near each.
void share(const ImportedNode& node, const std::vector<std::vector<int>>& near, NicChoice& choice) {
  std::map<int, int> users;
  std::vector<int> nic_of;
  for (const auto& list : near) {
    nic_of.push_back(
        *std::min_element(list.begin(), list.end(), [&](int a, int b) { return users[a] < users[b]; }));
    ++users[nic_of.back()];
  }
  std::map<int, int> number;
  for (int nic : node.nics)
    if (users[nic] > 0) {
      number[nic] = static_cast<int>(choice.nics.size());
      choice.nics.push_back({nic});
    }
  for (int nic : nic_of) choice.affinity.push_back(number[nic]);
}

}  // namespace

NicChoice choose_nics(const ImportedNode& node, const TopologyImport& import) {
  NicChoice choice;
  if (node.nics.empty()) return choice;
  for (int nic : node.nics) choice.port = std::max(choice.port, speed_of(node.vertices[nic], import));
  std::vector<int> fastest;
  for (int nic : node.nics)
    (speed_of(node.vertices[nic], import) < choice.port ? choice.slower : fastest).push_back(nic);
  std::vector<std::vector<int>> near;
  for (int gpu : node.gpus) near.push_back(nearest(node, gpu, fastest));
  choice.bandwidth = choice.port;
  for (auto each = fastest.size() / node.gpus.size(); each > 1 && choice.nics.empty(); --each) {
    choice.nics = shared_out(near, each);
    for (std::size_t i = 0; i < choice.nics.size(); ++i) {
      auto bandwidth = carried(node, node.gpus[i], choice.nics[i], choice.port);
      choice.bandwidth = i == 0 ? bandwidth : std::min(choice.bandwidth, bandwidth);
      choice.affinity.push_back(static_cast<int>(i));
    }
  }
  if (choice.nics.empty()) share(node, near, choice);
  for (int nic : fastest)
    if (std::none_of(choice.nics.begin(), choice.nics.end(), [&](const std::vector<int>& ports) {
          return std::find(ports.begin(), ports.end(), nic) != ports.end();
        }))
      choice.farther.push_back(nic);
  return choice;
}

}  // namespace ddpsim
