#pragma once
// GPU generations: one row each as NCCL tells them apart, one row a chip of what is known of its links.
#include <array>
#include <optional>
#include <string_view>

#include "sim/base/names.hpp"
#include "sim/base/units.hpp"

namespace ddpsim::nccl {

enum class Gpu { volta, ampere, ada, hopper, blackwell };
// Rows of the tuner's tables; a release counts GPUs that it does not know as the newest that it does.
enum class Generation { volta, ampere, hopper, blackwell };
inline constexpr std::size_t kGenerations = static_cast<std::size_t>(Generation::blackwell) + 1;
// The classes of machines that were measured.
enum class NodeClass { ampere, hopper, blackwell, grace_blackwell, unknown };

struct GpuTraits {
  Gpu gpu;
  std::string_view name;
  int sm;                          // compute capability
  Generation generation;           // the tuner counts Ada as Ampere
  NodeClass node_class, with_arm;  // of an NVLink node; with an Arm CPU
  double nvlink;                   // data sheets: GB/s of a link and direction, where it has any
};
inline constexpr std::array kGpus{
    GpuTraits{Gpu::volta, "volta", 70, Generation::volta, NodeClass::unknown, NodeClass::unknown, 25},
    GpuTraits{Gpu::ampere, "ampere", 80, Generation::ampere, NodeClass::ampere, NodeClass::ampere, 25},
    GpuTraits{Gpu::ada, "ada", 89, Generation::ampere, NodeClass::unknown, NodeClass::unknown, 25},
    GpuTraits{Gpu::hopper, "hopper", 90, Generation::hopper, NodeClass::hopper, NodeClass::hopper, 25},
    GpuTraits{Gpu::blackwell, "blackwell", 100, Generation::blackwell, NodeClass::blackwell,
              NodeClass::grace_blackwell, 50}};

constexpr const GpuTraits& traits_of(Gpu gpu) {
  return kGpus.at(static_cast<std::size_t>(gpu));
}
static_assert(has_each_in_order(kGpus, &GpuTraits::gpu, Gpu::blackwell));
constexpr std::string_view name(Gpu gpu) {
  return traits_of(gpu).name;
}
constexpr Generation generation_of(Gpu gpu) {
  return traits_of(gpu).generation;
}

struct GpuChip {
  int sm;  // the compute capability from which on this holds
  std::string_view name;
  std::optional<Gpu> counted_as;  // by NCCL's tuner
  BytesPerSecond nvlink;          // per link and direction
  int most_nvlinks;               // of one GPU; 0: it has none
  bool nvlinks_usual;             // whole boards of data centres have them
  bool multicast;                 // its NVSwitches add up and multicast (NVLink SHARP)
  int pcie_generation;
};
// NVLinks per direction and how many: NVIDIA's architecture whitepapers of Tesla P100 (4 of 20 GB/s), Tesla
// V100 (6 of 25), Turing (2 of 25), A100 (12 of 25), GA102 (4 of 14.0625), H100 (18 of 25) and Blackwell (18
// of 50). Ada (sm 89) and the workstation GPUs of Blackwell (sm 120) have none. NVLink SHARP came with the
// NVSwitch of Hopper.
inline constexpr std::array kChips{
    GpuChip{60, "pascal", std::nullopt, BytesPerSecond(20e9), 4, true, false, 3},
    GpuChip{70, "volta", Gpu::volta, BytesPerSecond(25e9), 6, true, false, 3},
    GpuChip{75, "turing", Gpu::volta, BytesPerSecond(25e9), 2, false, false, 3},
    GpuChip{80, "ampere", Gpu::ampere, BytesPerSecond(25e9), 12, true, false, 4},
    GpuChip{86, "ampere (GA10x)", Gpu::ampere, BytesPerSecond(14.0625e9), 4, false, false, 4},
    GpuChip{89, "ada", Gpu::ada, BytesPerSecond(), 0, false, false, 4},
    GpuChip{90, "hopper", Gpu::hopper, BytesPerSecond(25e9), 18, true, true, 5},
    GpuChip{100, "blackwell", Gpu::blackwell, BytesPerSecond(50e9), 18, true, true, 5},
    GpuChip{120, "blackwell (GB20x)", Gpu::blackwell, BytesPerSecond(), 0, false, false, 5}};
inline constexpr int kFirstUnknownSm = 130;

// The last whose compute capability is no later.
constexpr const GpuChip* chip_of(int sm) {
  const GpuChip* found = nullptr;
  for (const auto& chip : kChips)
    if (chip.sm <= sm) found = &chip;
  return found;
}
constexpr const GpuChip& chip_of(Gpu gpu) {
  return *chip_of(traits_of(gpu).sm);
}

}  // namespace ddpsim::nccl
