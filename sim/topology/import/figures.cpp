#include "sim/topology/import/figures.hpp"

#include <algorithm>
#include <array>
#include <utility>
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

// PCI device ids of NVIDIA's (github.com/pciutils/pciids at c1c1254); those that stand for GPUs of several
// sizes are left out.
using DeviceId = std::pair<std::string_view, std::string_view>;
constexpr auto kDeviceIds = std::to_array<DeviceId>({
    {"15f8", "p100-pcie-16gb"},
    {"15f9", "p100-sxm2-16gb"},
    {"1db1", "v100-sxm2-16gb"},
    {"1df5", "v100-sxm2-16gb"},
    {"1db4", "v100-pcie-16gb"},
    {"1db5", "v100-sxm2-32gb"},
    {"1db6", "v100-pcie-32gb"},
    {"1e02", "titan-rtx"},
    {"1eb8", "t4"},
    {"20b0", "a100-sxm4-40gb"},
    {"20b1", "a100-pcie-40gb"},
    {"20b2", "a100-sxm4-80gb"},
    {"20b5", "a100-pcie-80gb"},
    {"20f1", "a100-pcie-40gb"},
    {"20f3", "a800-sxm4-80gb"},
    {"2204", "rtx-3090"},
    {"2230", "rtx-a6000"},
    {"2231", "rtx-a5000"},
    {"2235", "a40"},
    {"2236", "a10"},
    {"2237", "a10g"},
    {"2321", "h100-nvl"},
    {"2324", "h800-sxm"},
    {"2329", "h20"},
    {"2330", "h100-sxm"},
    {"2331", "h100-pcie"},
    {"2335", "h200-sxm"},
    {"2684", "rtx-4090"},
    {"26b5", "l40"},
    {"26b9", "l40s"},
    {"27b8", "l4"},
    {"2901", "b200-sxm"},
    {"2941", "gb200"},
    {"2b85", "rtx-5090"},
    {"2bb1", "rtx-pro-6000-blackwell"},
    {"2bb5", "rtx-pro-6000-server"},
    {"3182", "b300-sxm"},
    {"31c2", "gb300"},
    {"31c3", "gb300"},
});

}  // namespace

std::string_view gpu_file_of(std::string_view device) {
  if (device.starts_with("0x")) device.remove_prefix(2);
  auto found = std::ranges::find(kDeviceIds, device, &DeviceId::first);
  return found == kDeviceIds.end() ? std::string_view() : found->second;
}

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
