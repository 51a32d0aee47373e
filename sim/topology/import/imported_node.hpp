#pragma once
// What an importer finds out about one node: the tree of PCIe, and the NVLinks or AMD's xGMI.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/topology/amd_gpus.hpp"
#include "sim/topology/import/figures.hpp"
#include "sim/topology/interconnect.hpp"

namespace ddpsim {

struct ImportedNode {
  enum class Kind { gpu, nic, pcie_switch, host_bridge, numa_node };
  struct Vertex {
    Kind kind;
    int parent;                 // -1: a root; roots are joined in pairs, by the links between sockets
    BytesPerSecond up = {};     // the link to the parent
    std::string original = {};  // what the file calls it
    SourceSpan place = {};
    std::optional<BytesPerSecond> speed = {};  // of a NIC's cable, where it is known
    std::string name = {};                     // "gpu0", "nic1", "pcie0", "host0", "numa0"
    int card = -1;                             // of a NIC: the ports of one card have one `up`
  };
  // An NVLink of other bandwidth than `nvlink`, from a GPU to the root above it.
  struct ToHost {
    int gpu;
    BytesPerSecond bandwidth;  // of all together
    int count;
  };

  std::vector<Vertex> vertices;
  std::vector<int> gpus, nics;                            // their vertices, in the order of their numbers
  std::vector<NvlinkPair> nvlinks;                        // or xGMI; by the GPUs' numbers, a < b, ascending
  std::vector<int> to_nvswitch;                           // of each GPU, NVLinks; empty: there is no NVSwitch
  std::vector<ToHost> to_host;                            // NVLink-C2C and the NVLinks of POWER9
  BytesPerSecond nvlink = {};                             // or of xGMI; per link and direction
  bool multicast = false;                                 // of the NVSwitches
  BytesPerSecond socket = {};                             // between two roots
  std::string nvlink_source, pcie_source, socket_source;  // where the figures are from, in words
  std::vector<std::string> notes;                         // what is assumed or left out, "no full stop"
  std::optional<nccl::Gpu> gpu;                           // where they are known
  std::string gpu_file;                                   // its name in gpus/; empty: not known
  std::optional<AmdGpu> amd;                              // GPUs of AMD, joined by xGMI
  std::optional<HostCpu> cpu;

  // Once everything is there: drops switches and roots without GPU and NIC, and names the rest in the order
  // of the GPUs below them.
  void finish();
};

// How two vertices are joined without NVLink, from near to far: nvidia-smi's classes.
enum class PcieClass { pix, pxb, phb, node, sys };
PcieClass pcie_class(const ImportedNode& node, int a, int b);
std::string_view name(PcieClass pcie_class);  // "PIX"

// The PCIe tree as `kind: pcie` of a topology file has it; nullopt for a tree that is not regular enough.
std::optional<PcieTree> regular_tree(const ImportedNode& node);

}  // namespace ddpsim
