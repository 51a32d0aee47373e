#include "sim/nccl/constants.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace ddpsim::nccl {
namespace {

constexpr Constants::ByGpu kRingLl128Max = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {73.4, 73.4, 73.4}}};
constexpr Constants::ByGpu kTreeLl128Max = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {73.4, 73.4, 58.0}}};
constexpr Constants::ByGpu kTreeMax = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {77.4, 82.8, 72.0}}};

Constants version_2_27() {
  return {
      .base_latency = {{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}}},
      .step_latency = {{{{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}}},
                        {{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}}},
                        {{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 14}}}}},
      .ll_max = {{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}},
      .ring_ll128_max = kRingLl128Max,
      .tree_ll128_max = kTreeLl128Max,
      .tree_max = kTreeMax,
      .counts_nvls_channels = false,
      .nvls_tree_max = {},
      .nvls_efficiency = {},
      .lone_gpu_ll128 = 0.92,
      .counts_last_steps = false,
  };
}

Constants version_2_21() {
  Constants c = version_2_27();
  c.base_latency[0] = {6.8, 14.0, 0};
  c.step_latency[0][0] = {0.6, 1.25, 28};
  c.step_latency[1][0] = {1.0, 1.9, 28};
  c.step_latency[2][0] = {5.0, 8.5, 28};
  c.lone_gpu_ll128 = 0.7;
  c.counts_last_steps = true;
  return c;
}

Constants version_2_30() {
  Constants c = version_2_27();
  c.step_latency[2][3] = {0, 0, 20.9};
  c.ring_ll128_max[3] = {40.0, 40.0, 40.0};
  c.tree_ll128_max[3] = {55.6, 31.67, 20.0};
  c.tree_max[3] = {70.0, 42.8, 24.0};
  c.counts_nvls_channels = true;
  c.nvls_tree_max = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
  c.nvls_efficiency = {0, 0, 0.85, 0.74};
  return c;
}

}  // namespace

const Constants& constants(Version version) {
  static const std::array<Constants, 3> all = {version_2_21(), version_2_27(), version_2_30()};
  return all.at(static_cast<std::size_t>(version));
}

double tree_correction(Protocol protocol, Bytes bytes) {
  // By powers of two from 64 B on; 1 beyond the last.
  static constexpr std::array<std::array<double, 23>, kProtocols> kShares = {{
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
  }};
  auto sixtyfours = static_cast<std::uint64_t>(std::min(bytes.value(), 9e15)) >> 6;
  auto power = static_cast<std::size_t>(sixtyfours == 0 ? 0 : std::bit_width(sixtyfours) - 1);
  const auto& shares = kShares.at(static_cast<std::size_t>(protocol));
  return power < shares.size() ? shares.at(power) : 1;
}

std::span<const double> channel_speeds(Version version, Gpu gpu, bool across_nodes) {
  static const std::vector<double> kWithin = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static const std::vector<double> kAcross = {48, 30, 28, 24, 20, 18,  15,  12,   10,  9,
                                              7,  6,  5,  4,  3,  2.4, 1.2, 0.24, 0.12};
  static const std::vector<double> kWithinHopper = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static const std::vector<double> kAcrossHopper = {48, 45, 42, 40, 30,  24,  22,   20,  17.5,
                                                    15, 12, 6,  3,  2.4, 1.2, 0.24, 0.12};
  // sm100: 45 GB/s within a node, 86 and 80 across came with 2.30.
  static const std::vector<double> kWithin100 = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
  static const std::vector<double> kAcross100 = {96,   48, 45.1, 42, 40, 30,  24,  22,   20,
                                                 17.5, 15, 12,   6,  3,  2.4, 1.2, 0.24, 0.12};
  static const std::vector<double> kWithin100New = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  static const std::vector<double> kAcross100New = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                                    20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};
  if (gpu == Gpu::blackwell && version < Version::v2_30_7) return across_nodes ? kAcross100 : kWithin100;
  if (gpu == Gpu::blackwell) return across_nodes ? kAcross100New : kWithin100New;
  if (gpu == Gpu::hopper) return across_nodes ? kAcrossHopper : kWithinHopper;
  return across_nodes ? kAcross : kWithin;
}

double nvlink_share(Gpu gpu) {
  // topo.h: SM70_NVLINK_BW 20, SM80_NVLINK_BW 20, SM90_NVLINK_BW 20.6, SM100_NVLINK_BW 40.1 GB/s; data
  // sheets: 25 GB/s a link and direction, 50 on Blackwell.
  if (gpu == Gpu::blackwell) return 40.1 / 50;
  if (gpu == Gpu::hopper) return 20.6 / 25;
  return 20.0 / 25;
}

}  // namespace ddpsim::nccl
