#include "sim/topology/interconnect.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace ddpsim {
namespace {

int add_switch(NodeModel& node, const std::string& name) {
  node.names.push_back(name);
  return static_cast<int>(node.names.size()) - 1;
}

void add_both_ways(NodeModel& node, int a, int b, const Link& link, Cable cable = {Medium::nvlink}) {
  node.wires.push_back({a, b, link, cable});
  node.wires.push_back({b, a, link, cable});
}

// GPU to GPU is up to the switch and down from it: half of the latency on each.
void add_nvswitch(NodeModel& node, const Interconnect& interconnect) {
  int nvswitch = add_switch(node, "nvswitch");
  if (interconnect.multicast) node.reducing_switch = nvswitch;
  Link half{interconnect.link.bandwidth * std::max(interconnect.count, 1), interconnect.link.latency / 2.0};
  for (int gpu = 0; gpu < node.gpus; ++gpu)
    add_both_ways(node, gpu, nvswitch, half, {Medium::nvlink, interconnect.count});
}

void add_fully_connected(NodeModel& node, const Link& link) {
  for (int a = 0; a < node.gpus; ++a)
    for (int b = a + 1; b < node.gpus; ++b) add_both_ways(node, a, b, link);
}

void add_ring(NodeModel& node, const Link& link) {
  int pairs = node.gpus == 2 ? 1 : node.gpus;  // two GPUs: the way on is the way back
  for (int gpu = 0; gpu < pairs; ++gpu) add_both_ways(node, gpu, (gpu + 1) % node.gpus, link);
}

void add_mesh(NodeModel& node, const Interconnect& interconnect, Medium medium) {
  for (const auto& pair : interconnect.pairs)
    add_both_ways(node, pair.a, pair.b, {interconnect.link.bandwidth * pair.count, interconnect.link.latency},
                  {medium, pair.count});
}

// The vertex where each GPU's memory of the host is: a host bridge has as much as it is asked for unless a
// figure says otherwise.
void add_memory(NodeModel& node, const PcieTree& tree, int first_host, int sockets,
                const std::vector<int>& socket_of) {
  int first = first_host;
  if (tree.memory) {
    first = static_cast<int>(node.names.size());
    for (int i = 0; i < sockets; ++i) {
      add_switch(node, fmt::format("memory{}", i));
      // What is written and what is read share it.
      add_both_ways(node, first_host + i, first + i, {*tree.memory / 2, Seconds(0)}, {Medium::memory, 1});
    }
  }
  for (int socket : socket_of) node.memory_of.push_back(first + socket);
}

// Returns the switch of each GPU.
std::vector<int> add_pcie(NodeModel& node, const PcieTree& tree) {
  int switches = (node.gpus + tree.gpus_per_switch - 1) / tree.gpus_per_switch;
  int first_switch = static_cast<int>(node.names.size());
  for (int i = 0; i < switches; ++i) add_switch(node, fmt::format("pcie{}", i));
  std::vector<int> switch_of;
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    switch_of.push_back(first_switch + gpu / tree.gpus_per_switch);
    add_both_ways(node, gpu, switch_of.back(), tree.gpu, {Medium::pcie, 1});
  }
  if (!tree.host) return switch_of;
  int sockets = (switches + tree.switches_per_socket - 1) / tree.switches_per_socket;
  int first_host = static_cast<int>(node.names.size());
  for (int i = 0; i < sockets; ++i) add_switch(node, fmt::format("host{}", i));
  for (int i = 0; i < switches; ++i)
    add_both_ways(node, first_switch + i, first_host + i / tree.switches_per_socket, *tree.host,
                  {tree.host_medium, 1});
  for (int a = 0; a < sockets; ++a)
    for (int b = a + 1; b < sockets; ++b)
      add_both_ways(node, first_host + a, first_host + b, *tree.socket, {Medium::socket, 1});
  std::vector<int> socket_of;
  for (int above : switch_of) socket_of.push_back((above - first_switch) / tree.switches_per_socket);
  add_memory(node, tree, first_host, sockets, socket_of);
  return switch_of;
}

// Where there is PCIe a NIC sits at the switch of its first GPU and shares the links to it; elsewhere PCIe is
// not modelled and a NIC sits at its GPUs.
void plug_nics(NodeModel& node, const std::vector<int>& switch_of) {
  node.plugged.resize(static_cast<std::size_t>(node.nics));
  for (int gpu = 0; gpu < node.gpus && node.nics > 0; ++gpu) {
    auto& plugged = node.plugged[node.affinity[gpu]];
    if (switch_of.empty())
      plugged.push_back(gpu);
    else if (plugged.empty())
      plugged.push_back(switch_of[gpu]);
  }
}

}  // namespace

NodeModel make_node(int gpus, const Interconnect& interconnect, const Nics& nics) {
  NodeModel node;
  node.gpus = gpus;
  node.nics = nics.count;
  node.nic = nics.cable;
  node.affinity = nics.affinity;
  node.devices = nics.devices;
  node.host = interconnect.host;
  for (int gpu = 0; gpu < gpus; ++gpu) node.names.push_back(fmt::format("gpu{}", gpu));
  for (int nic = 0; nic < nics.count; ++nic) node.names.push_back(fmt::format("nic{}", nic));
  switch (interconnect.kind) {
    case Interconnect::Kind::none:
    case Interconnect::Kind::pcie:
      break;
    case Interconnect::Kind::nvswitch:
      add_nvswitch(node, interconnect);
      break;
    case Interconnect::Kind::fully_connected:
      add_fully_connected(node, interconnect.link);
      break;
    case Interconnect::Kind::ring:
      if (gpus > 1) add_ring(node, interconnect.link);
      break;
    case Interconnect::Kind::nvlink_mesh:
      add_mesh(node, interconnect, Medium::nvlink);
      break;
    case Interconnect::Kind::xgmi_mesh:
      add_mesh(node, interconnect, Medium::xgmi);
      break;
  }
  plug_nics(node, interconnect.pcie ? add_pcie(node, *interconnect.pcie) : std::vector<int>{});
  return node;
}

}  // namespace ddpsim
