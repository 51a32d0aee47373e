#include "sim/cli/calibrate_devices.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "sim/base/one_line.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/resolve/rccl.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::cli {
namespace {

// The GPU that a table names, where it is not the topology's.
std::optional<std::string> other_gpu(const std::string& device, const Topology& topology) {
  if (device.empty()) return std::nullopt;
  auto own = topology.gpu ? std::optional(read_gpu(*topology.gpu)) : std::nullopt;
  if (own && is_device(device, own->name)) return std::nullopt;
  std::optional<std::string> other;
  for (const auto& name : preset_names(PresetKind::gpus)) {
    auto gpu = read_gpu(*find_preset(PresetKind::gpus, name));
    if (!is_device(device, gpu.name)) continue;
    bool is_class = gpu.architecture == nccl::name(topology.nccl->gpu);
    if (!own && is_class) return std::nullopt;
    if (own || !gpu.architecture.empty()) other = gpu.name;
  }
  return other;
}

// Not "AMD", which is what hosts are as well.
bool names_amd(const std::string& device) {
  constexpr std::array<std::string_view, 3> kWords{"Instinct", "Radeon", "gfx"};
  if (std::ranges::any_of(kWords, [&](auto word) { return device.find(word) != std::string::npos; }))
    return true;
  return std::ranges::any_of(preset_names(PresetKind::gpus), [&](const std::string& name) {
    auto gpu = read_gpu(*find_preset(PresetKind::gpus, name));
    return is_of_amd(gpu) && is_device(device, gpu.name);
  });
}

}  // namespace

void require_nvidia(const Topology& topology, const std::string& name) {
  bool is_amd = topology.has_xgmi || (topology.gpu && is_of_amd(read_gpu(*topology.gpu)));
  if (!is_amd) return;
  throw InputError(
      fmt::format("the GPUs of {} are AMD's, and what tables are fitted to here is NCCL, not RCCL", name),
      "a scenario takes measured times as they are, of an all-reduce table: collective: {algorithm: "
      "measured, measured: FILE}");
}

void check_devices(const std::vector<calibrate::Measurement>& machine, const Topology& topology,
                   const std::string& name, bool accept) {
  for (const auto& measurement : machine) {
    const auto& table = measurement.table;
    bool says_amd = names_amd(table.device);
    if (table.by_rccl || says_amd)
      throw InputError(
          measurement.place(),
          fmt::format("measured on AMD's GPUs{}, and those of {} are NVIDIA's",
                      says_amd ? fmt::format(" ({})", one_line(table.device)) : ", with RCCL", name),
          "RCCL's times say nothing of NCCL's: keep this table out");
    // A table of another machine would be fitted, and its times believed.
    if (auto other = accept ? std::nullopt : other_gpu(table.device, topology))
      throw InputError(measurement.place(),
                       fmt::format("measured on {}, and the GPU of {} is {}", *other, name,
                                   topology.gpu ? read_gpu(*topology.gpu).name
                                                : "one of " + std::string(nccl::name(topology.nccl->gpu))),
                       "name the topology of the machine that was measured, or --accept it");
  }
}

}  // namespace ddpsim::cli
