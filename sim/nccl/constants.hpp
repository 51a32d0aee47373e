#pragma once
// The constants with which NCCL chooses algorithms and protocols. They are what its tuner believes, not
// measurements. Source: github.com/NVIDIA/nccl, the tags of kReleases: src/graph/tuning.cc,
// src/graph/search.cc, src/graph/topo.h, src/transport/nvls.cc, src/enqueue.cc. Latencies in us, bandwidths
// in GB/s (1e9 B/s).
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/nccl/names.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::nccl {

// What a step within a node goes over.
enum class Hardware { nvlink, pci, network };

struct Constants {
  using ByProtocol = std::array<double, kProtocols>;             // ll, ll128, simple
  using ByAlgorithm = std::array<ByProtocol, kTunedAlgorithms>;  // in Algorithm's order
  using ByNodes = std::array<double, 3>;                         // 1, 2, more nodes
  using ByGpu = std::array<ByNodes, kGenerations>;               // by Generation
  using PerGpu = std::array<double, kGenerations>;
  using Speeds = std::vector<double>;  // GB/s of a channel, fastest first

  ByAlgorithm base_latency{};
  std::array<ByAlgorithm, 3> step_latency{};  // by Hardware
  ByGpu ll_max{};                             // of all channels; across nodes by CPU: row 0 others, row 1 AMD
  ByGpu ring_ll128_max{}, tree_ll128_max{}, tree_max{};  // of a channel

  // Of the channels' bandwidth an LL ring has this share; and in one node for operations without a reduction
  // on every rank.
  double ring_ll_share = 0, ring_ll_share_in_node = 0;
  double lone_gpu_ll128 = 0;  // share that LL128 rings keep with less than two GPUs a node (others: 0.92)
  double plain_tree = 0;      // of a tree's bandwidth where its pattern is TREE
  // An all-reduce's ring across N nodes pays 2N network steps, not 2(N-1).
  bool counts_last_steps = false;
  bool lone_gpus_step_as_trees = false;  // a network step with one GPU a node takes what a tree's does
  int tree_corrections = 0;              // powers of two from 64 B on that tree_correction knows
  bool corrects_nvls_tree = false;       // on Blackwell with an x86 CPU

  // NVLS: what its all-reduce moves.
  enum class NvlsChannel {
    within_node,  // what a channel does within a node, beyond two nodes what it does between them
    narrower,     // the less of both, NVLSTree beyond two nodes half of the latter
    efficiency    // what the switch gets through, by nvls_efficiency
  };
  NvlsChannel nvls_channel{};
  double nvls_ratio = 0;  // algbw of the channels' bandwidth, before `efficiency`
  // NVLS: what its all-gather and reduce-scatter move.
  enum class NvlsGather {
    none,
    as_all_reduce,
    whole,  // the channels' bandwidth
    shared  // without a GPU's own part
  };
  NvlsGather nvls_gather{};
  bool nvls_tree_is_a_tree = false;  // NVLSTree takes 2 log2 N network steps, not 2(N-1)
  ByGpu nvls_tree_max{};             // of a channel
  PerGpu nvls_efficiency{};
  int nvls_heads = 0, nvls_least_gpus = 0;
  // CTAs of an NVLS kernel: Hopper, Blackwell, Blackwell where all are in one NVLink domain.
  std::array<int, 3> nvls_ctas{};

  // PAT's share of a tree's channels; 0: there is no PAT.
  double pat_share = 0;
  enum class CollnetGather { none, interpolated, narrower };
  CollnetGather collnet_gather{};  // CollNetDirect's all-gather and reduce-scatter
  double collnet_arity_latency = 0;

  // Send/recv: LL for messages of up to 16 KiB a part, a channel of a peer, or a channel in use.
  enum class P2pLowLatency { of_part, of_channels_a_peer, of_channels_in_use };
  P2pLowLatency p2p_low_latency{};
  double p2p_least_part_across_nodes = 0;  // of a chunk; in one node an eighth

  Generation newest = Generation::hopper;  // that it knows
  bool ll128_on_any_gpu = false;           // else on any that it knows but compute capability 8.9
  int max_channels = 0;                    // of a communicator; the search stops at half of it
  PerGpu nvlink{};                         // of one link and direction
  std::array<std::array<Speeds, 2>, kGenerations> speeds;  // within a node, across nodes
};
// Of the newest known release that is not newer than `version`, which is not older than kOldestVersion.
const Constants& constants(Version version);
Version first_with(Generation generation);  // the first release that knows it

// The share of a tree's bandwidth that is left at a size ("not perfectly sticking to the model for medium
// sizes": treeCorrectionFactor).
double tree_correction(const Constants& constants, Protocol protocol, Bytes bytes);

// The channel bandwidths that the search for rings tries, fastest first.
std::span<const double> channel_speeds(Version version, Gpu gpu, bool across_nodes);

// What NCCL counts of a NVLink's data-sheet bandwidth (20 of 25 GB/s on an A100).
double nvlink_share(Version version, Gpu gpu);

// LL128 is on by default for this GPU where the links allow it.
bool has_ll128(Version version, Gpu gpu);

}  // namespace ddpsim::nccl
