#include "sim/topology/import/figures.hpp"

#include <array>
#include <vector>

#include <fmt/ranges.h>

#include "sim/topology/amd_gpus.hpp"

namespace ddpsim {
namespace {

using namespace literals;

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

const nccl::GpuChip* gpu_figures_of_sm(int sm) {
  return sm < nccl::kFirstUnknownSm ? nccl::chip_of(sm) : nullptr;
}

std::optional<nccl::Gpu> nccl_gpu(int sm) {
  const auto* chip = nccl::chip_of(sm);
  return chip ? chip->counted_as : std::nullopt;
}

std::string ask_for_gpu() {
  std::vector<std::string_view> names;
  for (const auto& row : nccl::kGpus)
    if (nccl::chip_of(row.gpu).most_nvlinks > 0) names.push_back(row.name);
  auto last = names.back();
  names.pop_back();
  return fmt::format("say it: --gpu {} or {}", fmt::join(names, ", "), last);
}

std::string ask_for_amd_gpu() {
  std::vector<std::string_view> names;
  for (const auto& board : kAmdBoards) names.push_back(board.name);
  return fmt::format("say it: --gpu {}, or its architecture: {}", fmt::join(names, ", "),
                     fmt::join(amd_architecture_names(), ", "));
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
