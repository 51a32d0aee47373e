#pragma once
// Figures that the imported files do not hold, each with its source.
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/nccl/gpus.hpp"

namespace ddpsim {

const nccl::GpuChip* gpu_figures_of_sm(int sm);  // nullptr for a GPU that is not known
std::optional<nccl::Gpu> nccl_gpu(int sm);       // as NCCL's tuner counts it; nullopt before Volta
std::string ask_for_gpu();                       // "say it: --gpu volta, ..."; those that have NVLink
std::string ask_for_amd_gpu();

// The name in gpus/ of the GPU with that PCI device id, "0x2330"; empty: none, or one of several.
std::string_view gpu_file_of(std::string_view device);

// PCIe as NCCL counts it. `link_speed` is "8 GT/s" or "32.0 GT/s PCIe"; nullopt for another text.
std::optional<BytesPerSecond> pcie_bandwidth(std::string_view link_speed, int lanes);
BytesPerSecond pcie_bandwidth(int generation, int lanes);  // generation 1 to 6

// The links between sockets as NCCL counts them.
enum class HostCpu { broadwell, skylake, sapphire_rapids, emerald_rapids, amd, arm, power9, zhaoxin };
struct SocketFigures {
  std::string_view option;  // "sapphire-rapids"
  std::string_view source;  // NCCL's name for it
  BytesPerSecond bandwidth;
};
const SocketFigures& socket_figures(HostCpu cpu);
// By the attributes of NCCL's XML; nullopt where NCCL does not know the CPU either.
std::optional<HostCpu> host_cpu(std::string_view arch, std::string_view vendor, int family, int model);

// Assumptions: latencies stand in none of the files. Those of NVLink are of the order that topologies/ has
// for a DGX-1 and a DGX H100; of xGMI, of each PCIe link and of a NIC there is no public figure.
inline constexpr Seconds kNvlinkLatency(0.3e-6);
inline constexpr Seconds kNvswitchLatency(1e-6);
inline constexpr Seconds kXgmiLatency = kNvlinkLatency;
inline constexpr Seconds kPcieLatency(0.5e-6);
inline constexpr Seconds kNicLatency(5e-6);

}  // namespace ddpsim
