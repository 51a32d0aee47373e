#pragma once
// The constants with which NCCL chooses algorithms and protocols. They are what its tuner believes, not
// measurements. Source: github.com/NVIDIA/nccl, tags v2.21.5-1 and v2.27.6-1 and commit 5067397 (2.30.7):
// src/graph/tuning.cc, src/graph/search.cc, src/graph/topo.h. Latencies in us, bandwidths in GB/s (1e9 B/s).
#include <array>
#include <span>

#include "sim/base/units.hpp"
#include "sim/nccl/names.hpp"

namespace ddpsim::nccl {

// What a step within a node goes over.
enum class Hardware { nvlink, pci, network };

struct Constants {
  using ByProtocol = std::array<double, kProtocols>;        // ll, ll128, simple
  using ByAlgorithm = std::array<ByProtocol, kAlgorithms>;  // tree, ring, nvls, nvls_tree
  using ByNodes = std::array<double, 3>;                    // 1, 2, more nodes
  using ByGpu = std::array<ByNodes, 4>;                     // Volta, Ampere, Hopper, Blackwell
  using PerGpu = std::array<double, 4>;

  ByAlgorithm base_latency;
  std::array<ByAlgorithm, 3> step_latency;  // by Hardware
  ByGpu ll_max;                             // of all channels; across nodes by CPU: row 0 others, row 1 AMD
  ByGpu ring_ll128_max, tree_ll128_max, tree_max;  // of a channel
  // 2.30 counts NVLS by what a channel moves; before, five sixths of the channels' bandwidth.
  bool counts_nvls_channels;
  ByGpu nvls_tree_max;  // of a channel
  PerGpu nvls_efficiency;
  double lone_gpu_ll128;  // share of the bandwidth that LL128 rings keep with one GPU a node (others: 0.92)
  // Before 2.27 a ring across N nodes paid 2N network steps; since, 2(N-1), with one GPU a node those of a
  // tree.
  bool counts_last_steps;
};
const Constants& constants(Version version);

// The share of a tree's bandwidth that is left at a size ("not perfectly sticking to the model for medium
// sizes": treeCorrectionFactor).
double tree_correction(Protocol protocol, Bytes bytes);

// The channel bandwidths that the search for rings tries, fastest first.
std::span<const double> channel_speeds(Version version, Gpu gpu, bool across_nodes);

// What NCCL counts of a NVLink's data-sheet bandwidth (20 of 25 GB/s on an A100).
double nvlink_share(Gpu gpu);

}  // namespace ddpsim::nccl
