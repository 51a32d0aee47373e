#include "sim/nccl/releases.hpp"

namespace ddpsim::nccl {
namespace {

using Speeds = Constants::Speeds;

enum : std::size_t { kNvlink, kPci, kNetwork };
enum : std::size_t { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
enum : std::size_t { kVoltaRow, kAmpereRow, kHopperRow, kBlackwellRow };
enum : std::size_t { kSimple = 2 };
enum : std::size_t { kWithin, kAcross };

void set_tree_simple(Constants& c, double nvlink, double pci, double network) {
  c.step_latency[kNvlink][kTree][kSimple] = nvlink;
  c.step_latency[kPci][kTree][kSimple] = pci;
  c.step_latency[kNetwork][kTree][kSimple] = network;
}

void v2_18_3(Constants& c) {
  // One table for rings and one for trees, by nodes.
  c.tree_ll128_max[kHopperRow] = {36.7, 36.7, 29};
  c.tree_max[kHopperRow] = {38.7, 41.4, 36};
  set_tree_simple(c, 4, 6, 14);
  c.plain_tree = 0.85;
  c.nvls_ratio = 5.0 / 6;
  c.speeds[kHopperRow][kAcross] = {48, 45, 42, 40, 30, 24, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
}

void v2_19_1(Constants& c) {
  set_tree_simple(c, 28, 28, 28);
  // From the base to the steps.
  c.base_latency[kCollnetDirect] = c.base_latency[kCollnetChain] = {0, 0, 0};
  c.base_latency[kNvls] = c.base_latency[kNvlsTree] = {0, 0, 0};
  c.step_latency[kNvlink][kNvls] = c.step_latency[kNvlink][kNvlsTree] = {0, 0, 23};
  c.step_latency[kNetwork][kNvlsTree] = {0, 0, 14};
  for (auto hardware : {kNvlink, kPci}) {
    c.step_latency[hardware][kCollnetDirect] = {0, 0, 3.7};
    c.step_latency[hardware][kCollnetChain] = {0, 0, 2.8};
  }
  c.step_latency[kNetwork][kCollnetDirect] = {0, 0, 31};
  c.step_latency[kNetwork][kCollnetChain] = {0, 0, 30};
  c.collnet_arity_latency = 0.4;
  c.nvls_tree_is_a_tree = true;
  c.nvls_channel = Constants::NvlsChannel::narrower;
  c.nvls_gather = Constants::NvlsGather::as_all_reduce;
  c.speeds[kHopperRow][kWithin] = {60, 50, 40, 30, 24, 20, 15, 12, 6, 3};
}

void v2_19_3(Constants& c) {
  c.speeds[kHopperRow][kAcross] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
}

void v2_20_3(Constants& c) {
  c.nvlink[kHopperRow] = 20.6;
  c.collnet_gather = Constants::CollnetGather::interpolated;
  c.p2p_least_part_across_nodes = 1.0 / 2;
}

void v2_21_5(Constants& c) {
  c.step_latency[kNvlink][kNvls] = c.step_latency[kNvlink][kNvlsTree] = {0, 0, 25};
  c.ll_max[kHopperRow] = {141, 45, 35};
  c.ring_ll_share = c.ring_ll_share_in_node = 1.0 / 2;
  c.nvls_heads = 32;
  c.speeds[kHopperRow][kWithin] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
}

void v2_22_3(Constants& c) {
  c.p2p_low_latency = Constants::P2pLowLatency::of_channels_a_peer;
}

void v2_23_4(Constants& c) {
  c.base_latency[kTree][kSimple] = 8.4;
  set_tree_simple(c, 4, 4, 14);
  c.lone_gpu_ll128 = 0.92;
  c.counts_last_steps = false;
  c.lone_gpus_step_as_trees = true;
  c.nvls_gather = Constants::NvlsGather::whole;
  c.base_latency[kPat] = {8, 8, 8};  // a number in the code until 2.28.3
  c.pat_share = 0.85;
}

void v2_24_3(Constants& c) {
  c.pat_share = 0.75;
}

void v2_25_1(Constants& c) {
  c.newest = Generation::blackwell;
  c.ll_max[kBlackwellRow] = {282, 90, 70};
  c.ring_ll128_max[kBlackwellRow] = {73.4, 73.4, 73.4};
  c.tree_ll128_max[kBlackwellRow] = {73.4, 73.4, 58};
  c.tree_max[kBlackwellRow] = {77.4, 82.8, 72};
  c.speeds[kBlackwellRow] = {Speeds{90, 80, 70, 60, 50, 40, 30, 24, 20, 19}, c.speeds[kHopperRow][kAcross]};
  c.nvlink[kBlackwellRow] = 40;
  c.max_channels = 64;
  c.nvls_ctas = {16, 32, 32};
}

void v2_27_3(Constants& c) {
  c.ll128_on_any_gpu = true;
  c.nvls_gather = Constants::NvlsGather::shared;
  c.collnet_gather = Constants::CollnetGather::narrower;
  c.nvls_ctas = {16, 32, 24};
  c.speeds[kBlackwellRow][kWithin] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
  c.speeds[kBlackwellRow][kAcross].front() = 47.9;
}

void v2_27_5(Constants& c) {
  c.nvlink[kBlackwellRow] = 40.1;
  c.speeds[kBlackwellRow][kAcross] = {48, 45.1, 42, 40, 30,  24,  22,   20,  17.5,
                                      15, 12,   6,  3,  2.4, 1.2, 0.24, 0.12};
}

void add_fastest_across(Constants& c, std::size_t place, double speed) {
  auto& speeds = c.speeds[kBlackwellRow][kAcross];
  speeds.insert(speeds.begin() + static_cast<std::ptrdiff_t>(place), speed);
}

void v2_27_6(Constants& c) {
  add_fastest_across(c, 0, 96);
}

void v2_28_3(Constants& c) {
  c.nvls_channel = Constants::NvlsChannel::efficiency;
  c.nvls_efficiency = {0, 0, 0.85, 0.74};
  c.nvls_tree_max = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.1}}};
  c.tree_ll128_max[kBlackwellRow] = {55.6, 31.67, 20};
  c.tree_max[kBlackwellRow] = {70, 42.8, 24};
  c.step_latency[kNvlink][kPat] = c.step_latency[kPci][kPat] = {0, 0, 4};
  c.step_latency[kNetwork][kPat] = {0, 0, 14};
}

void v2_28_7(Constants& c) {
  c.ring_ll128_max[kBlackwellRow] = {73.4, 34.6, 73.4};
  c.nvls_least_gpus = 2;
}

void v2_28_9(Constants& c) {
  c.step_latency[kNetwork][kNvlsTree] = {0, 0, 20.9};
  c.nvls_tree_max[kBlackwellRow] = {0, 96, 43.8};
}

void v2_29_2(Constants& c) {
  c.ring_ll128_max[kBlackwellRow] = {34.5, 34.6, 34.5};
  c.tree_corrections = 24;
  c.corrects_nvls_tree = true;
  c.p2p_low_latency = Constants::P2pLowLatency::of_channels_in_use;
  c.speeds[kBlackwellRow][kWithin] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
}

void v2_29_7(Constants& c) {
  c.ring_ll128_max[kBlackwellRow] = {40, 40, 40};
  add_fastest_across(c, 1, 80);
}

void v2_30_3(Constants& c) {
  c.nvls_tree_max[kBlackwellRow] = {0, 96, 80};
  add_fastest_across(c, 1, 86);
}

constexpr std::array kChanges{
    Release{{2, 18, 3}, v2_18_3}, Release{{2, 19, 1}, v2_19_1}, Release{{2, 19, 3}, v2_19_3},
    Release{{2, 20, 3}, v2_20_3}, Release{{2, 21, 5}, v2_21_5}, Release{{2, 22, 3}, v2_22_3},
    Release{{2, 23, 4}, v2_23_4}, Release{{2, 24, 3}, v2_24_3}, Release{{2, 25, 1}, v2_25_1},
    Release{{2, 27, 3}, v2_27_3}, Release{{2, 27, 5}, v2_27_5}, Release{{2, 27, 6}, v2_27_6},
    Release{{2, 28, 3}, v2_28_3}, Release{{2, 28, 7}, v2_28_7}, Release{{2, 28, 9}, v2_28_9},
    Release{{2, 29, 2}, v2_29_2}, Release{{2, 29, 7}, v2_29_7}, Release{{2, 30, 3}, v2_30_3}};

}  // namespace

Constants oldest_constants() {
  Constants c;
  c.base_latency = {{{6.8, 14, 0}, {6.6, 14, 8.4}, {6.8, 14, 0}, {6.8, 14, 0}, {0, 0, 23}, {0, 0, 23}, {}}};
  c.step_latency[kNvlink] = {
      {{0.6, 1.25, 28}, {0.6, 1.9, 3.4}, {0, 0, 8}, {0, 0, 4.75}, {0, 0, 0}, {0, 0, 0}, {}}};
  c.step_latency[kPci] = {{{1, 1.9, 28}, {1, 2.5, 5.7}, {0, 0, 8}, {0, 0, 8}, {0, 0, 0}, {0, 0, 0}, {}}};
  c.step_latency[kNetwork] = {
      {{5, 8.5, 28}, {2.7, 4, 14}, {0, 0, 10.7}, {0, 0, 14}, {0, 0, 18}, {0, 0, 19}, {}}};
  // Before 2.25.1 minCompCap >= 90 is Hopper, whatever came later: Blackwell's rows are Hopper's.
  c.ll_max = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {87.7, 22.5, 19}, {87.7, 22.5, 19}}};
  c.ring_ll128_max = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {36.7, 36.7, 36.7}}};
  c.tree_ll128_max = c.ring_ll128_max;
  c.tree_max = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 33}, {38.7, 41.4, 33}}};
  c.ring_ll_share = 1.0 / 4;
  c.ring_ll_share_in_node = 1.0 / 3;
  c.lone_gpu_ll128 = 0.7;
  c.plain_tree = 1;
  c.counts_last_steps = true;
  c.tree_corrections = 23;
  c.nvls_ratio = 0.75;
  c.nvls_heads = 8;
  c.nvls_least_gpus = 3;
  c.nvls_ctas = {16, 16, 16};
  c.collnet_arity_latency = 0.5;
  c.p2p_least_part_across_nodes = 1.0 / 8;
  c.max_channels = 32;
  c.nvlink = {20, 20, 20, 20};
  // search.cc: speedArrayIntra and speedArrayInter, sm90SpeedArray... for Hopper, sm100SpeedArray... later.
  c.speeds[kVoltaRow] = c.speeds[kAmpereRow] = {
      Speeds{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
      Speeds{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}};
  c.speeds[kHopperRow] = {Speeds{60, 40, 30, 24, 20, 15, 12, 6, 3},
                          Speeds{48, 45, 42, 40, 30, 24, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}};
  return c;
}

std::span<const Release> releases() {
  return kChanges;
}

}  // namespace ddpsim::nccl
