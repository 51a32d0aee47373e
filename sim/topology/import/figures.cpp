#include "sim/topology/import/figures.hpp"

#include <array>

namespace ddpsim {
namespace {

using namespace literals;

// NVLinks per direction and how many: NVIDIA's architecture whitepapers of Tesla P100 (4 of 20 GB/s), Tesla
// V100 (6 of 25), Turing (2 of 25), A100 (12 of 25), GA102 (4 of 14.0625), H100 (18 of 25) and Blackwell (18
// of 50). Ada (sm 89) and the workstation GPUs of Blackwell (sm 120) have none. NVLink SHARP came with the
// NVSwitch of Hopper.
constexpr std::array<GpuFigures, 9> kGpus{{{60, "pascal", 20_GBps, 4, true, false, 3},
                                           {70, "volta", 25_GBps, 6, true, false, 3},
                                           {75, "turing", 25_GBps, 2, false, false, 3},
                                           {80, "ampere", 25_GBps, 12, true, false, 4},
                                           {86, "ampere (GA10x)", 14.0625_GBps, 4, false, false, 4},
                                           {89, "ada", 0_GBps, 0, false, false, 4},
                                           {90, "hopper", 25_GBps, 18, true, true, 5},
                                           {100, "blackwell", 50_GBps, 18, true, true, 5},
                                           {120, "blackwell (GB20x)", 0_GBps, 0, false, false, 5}}};
constexpr int kFirstUnknownSm = 130;

// src/graph/topo.cc: kvDictPciGen, in 100 Mb/s a lane; GB/s are lanes * value / 80.
struct PcieSpeed {
  std::string_view text;
  int units;
};
constexpr std::array<PcieSpeed, 6> kPcieSpeeds{
    {{"2.5", 15}, {"5", 30}, {"8", 60}, {"16", 120}, {"32", 240}, {"64", 480}}};

BytesPerSecond pcie_bandwidth_of(int units, int lanes) {
  return BytesPerSecond(units * lanes / 80.0 * 1e9);
}

// src/graph/topo.h of NCCL 2.27.6.
constexpr std::array<SocketFigures, 8> kSockets{{{"broadwell", "BDW_QPI_BW", 6_GBps},
                                                 {"skylake", "SKL_QPI_BW", 10_GBps},
                                                 {"sapphire-rapids", "SRP_QPI_BW", 22_GBps},
                                                 {"emerald-rapids", "ERP_QPI_BW", 40_GBps},
                                                 {"amd", "AMD_BW", 16_GBps},
                                                 {"arm", "ARM_BW", 6_GBps},
                                                 {"power9", "P9_BW", 32_GBps},
                                                 {"zhaoxin", "ZPI_BW", 6_GBps}}};

}  // namespace

const GpuFigures& gpu_figures(nccl::Gpu gpu) {
  constexpr std::array<int, 5> kSm{70, 80, 89, 90, 100};
  return *gpu_figures_of_sm(kSm[static_cast<std::size_t>(gpu)]);
}

const GpuFigures* gpu_figures_of_sm(int sm) {
  const GpuFigures* found = nullptr;
  for (const auto& gpu : kGpus)
    if (gpu.sm <= sm && sm < kFirstUnknownSm) found = &gpu;
  return found;
}

std::optional<nccl::Gpu> nccl_gpu(int sm) {
  if (sm >= 100) return nccl::Gpu::blackwell;
  if (sm >= 90) return nccl::Gpu::hopper;
  if (sm == 89) return nccl::Gpu::ada;
  if (sm >= 80) return nccl::Gpu::ampere;
  if (sm >= 70) return nccl::Gpu::volta;
  return std::nullopt;
}

std::optional<BytesPerSecond> pcie_bandwidth(std::string_view link_speed, int lanes) {
  auto number = link_speed.substr(0, link_speed.find(' '));
  auto unit = link_speed.substr(number.size());
  if (number.ends_with(".0")) number.remove_suffix(2);
  if (unit != " GT/s" && unit != " GT/s PCIe") return std::nullopt;
  for (const auto& speed : kPcieSpeeds)
    if (speed.text == number) return pcie_bandwidth_of(speed.units, lanes);
  return std::nullopt;
}

BytesPerSecond pcie_bandwidth(int generation, int lanes) {
  return pcie_bandwidth_of(kPcieSpeeds[static_cast<std::size_t>(generation - 1)].units, lanes);
}

const SocketFigures& socket_figures(HostCpu cpu) {
  return kSockets[static_cast<std::size_t>(cpu)];
}

// src/graph/topo.cc: ncclTopoAddCpu.
std::optional<HostCpu> host_cpu(std::string_view arch, std::string_view vendor, int family, int model) {
  if (arch == "arm64") return HostCpu::arm;
  if (arch == "ppc64") return HostCpu::power9;
  if (arch != "x86_64") return std::nullopt;
  if (vendor == "AuthenticAMD") return HostCpu::amd;
  if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") return HostCpu::zhaoxin;
  if (vendor != "GenuineIntel") return std::nullopt;
  if (family == 6 && model >= 0xCF) return HostCpu::emerald_rapids;
  if (family == 6 && model >= 0x8F) return HostCpu::sapphire_rapids;
  if (family == 6 && model >= 0x55) return HostCpu::skylake;
  return HostCpu::broadwell;
}

}  // namespace ddpsim
