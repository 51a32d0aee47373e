#pragma once
// Importers of what other tools say about the topology of a node: the matrix of `nvidia-smi topo -m`, the
// tables of `rocm-smi --showtopo`, and NCCL's and RCCL's XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE). What each
// class of link becomes is in docs/reference/topology.md.
#include <optional>
#include <string>
#include <vector>

#include "sim/nccl/names.hpp"
#include "sim/topology/amd_gpus.hpp"
#include "sim/topology/import/figures.hpp"

namespace ddpsim {

// What the file may leave open; what it says counts.
struct TopologyImport {
  std::string path;
  std::optional<nccl::Gpu> gpu;        // of NVIDIA
  std::string gpu_file;                // which one, by its name in gpus/; empty: not said
  std::optional<AmdGpu> amd;           // or of AMD
  std::optional<int> nvlinks;          // between any two GPUs, as NV# in nvidia-smi's matrix; XML without any
  std::optional<int> pcie_generation;  // 1 to 6
  std::optional<HostCpu> cpu;
  bool cpu_is_vendor = false;                      // `cpu` is one of Intel's: which is not said
  std::optional<BytesPerSecond> socket_bandwidth;  // between two sockets, per direction
  std::optional<BytesPerSecond> nic_bandwidth;     // per NIC and direction
  std::string peer_to_peer;                        // path of what `nvidia-smi topo -p2p r` prints
};

struct ImportedTopology {
  std::string yaml;       // a topology file: kind cluster where one node can be told as such, else kind graph
  std::string summary;    // "8 GPUs, 4 NICs (kind: cluster)"
  bool has_nccl = false;  // whether there is a section nccl
  bool is_amd = false;    // RCCL's machine: it never has one
  std::vector<std::string> notes = {};  // what is merged, assumed or left out; in the header of `yaml` too
};

// Each throws InputError with place and hint for a file of another kind, one that contradicts itself or
// describes several nodes, and where an option is missing.
ImportedTopology import_nvidia_smi(const TopologyImport& import);
ImportedTopology import_rocm_smi(const TopologyImport& import);
ImportedTopology import_nccl_xml(const TopologyImport& import);

}  // namespace ddpsim
