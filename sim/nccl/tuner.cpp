#include "sim/nccl/tuner.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "sim/base/check.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

template <class Word>
std::size_t index(Word word) {
  return static_cast<std::size_t>(word);
}

template <class Word>
bool contains(const std::vector<Word>& words, Word word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The formulas of one communicator; latencies in us, bandwidths in GB/s.
class Formulas {
 public:
  explicit Formulas(const Communicator& communicator)
      : c_(communicator),
        k_(constants(communicator.version)),
        gpu_(c_.gpu == Gpu::blackwell ? 3
             : c_.gpu == Gpu::hopper  ? 2
             : c_.gpu == Gpu::volta   ? 0
                                      : 1),
        scale_(static_cast<std::size_t>(std::min(c_.nodes, 3) - 1)) {}

  [[nodiscard]] double algbw(Algorithm algorithm, Protocol protocol) const {
    switch (algorithm) {
      case Algorithm::ring:
        return ring_busbw(protocol) * algbw_of_busbw();
      case Algorithm::tree:
        return tree_busbw(protocol) * 0.5;
      case Algorithm::nvls:
      case Algorithm::nvls_tree:
        return nvls_algbw(algorithm == Algorithm::nvls_tree);
    }
    return 0;
  }

  [[nodiscard]] double latency(Algorithm algorithm, Protocol protocol) const {
    auto within = c_.nvlink ? Hardware::nvlink : Hardware::pci;
    double base = k_.base_latency[index(algorithm)][index(protocol)];
    double intra = step(within, algorithm, protocol);
    double inter = network_step(algorithm, protocol);
    double depth = std::bit_width(static_cast<unsigned>(c_.nodes)) - 1;  // of the tree of nodes
    switch (algorithm) {
      case Algorithm::ring:
        return base + ring_steps(protocol, intra, inter);
      case Algorithm::tree:
        return base + 2 * ((gpus_per_node() - 1) * intra + depth * inter);
      case Algorithm::nvls:
        return intra;
      case Algorithm::nvls_tree:
        return base + intra + 2 * depth * inter;
    }
    return 0;
  }

 private:
  // A channel's bandwidth: what limits it across more than two nodes is the network.
  [[nodiscard]] double of_channel(const Graph& graph) const {
    return c_.nodes <= 2 ? graph.intra : graph.inter;
  }
  [[nodiscard]] double algbw_of_busbw() const { return c_.ranks / (2.0 * (c_.ranks - 1)); }
  [[nodiscard]] int gpus_per_node() const { return c_.ranks / c_.nodes; }  // rounded down, as in NCCL
  [[nodiscard]] bool lone_gpus() const { return c_.ranks == c_.nodes; }
  [[nodiscard]] double ll_max() const {
    std::size_t row = c_.nodes == 1 ? gpu_ : c_.cpu == Cpu::amd ? 1 : 0;
    return k_.ll_max[row][scale_];
  }

  [[nodiscard]] double ring_busbw(Protocol protocol) const {
    double all = c_.ring.channels * of_channel(c_.ring);
    if (protocol == Protocol::ll) return std::min(ll_max(), all * 0.5);
    if (protocol == Protocol::simple) return all;
    double share = lone_gpus() ? k_.lone_gpu_ll128 : 0.92;  // 120 of 128 bytes are data
    return std::min(all * share, c_.ring.channels * k_.ring_ll128_max[gpu_][scale_]);
  }

  [[nodiscard]] double tree_busbw(Protocol protocol) const {
    double all =
        std::min(c_.tree.channels * of_channel(c_.tree) * 0.92, c_.tree.channels * k_.tree_max[gpu_][scale_]);
    if (protocol == Protocol::ll) return std::min(all / 3.8, ll_max());
    if (protocol == Protocol::simple) return all;
    return std::min(all * (c_.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                    c_.tree.channels * k_.tree_ll128_max[gpu_][scale_]);
  }

  [[nodiscard]] double nvls_algbw(bool tree) const {
    if (!c_.nvls) return 0;
    double n = c_.nvls->channels;
    if (!k_.counts_nvls_channels) {
      double inter = tree && c_.nodes > 2 ? c_.nvls->inter / 2 : c_.nvls->inter;
      return n * std::min(c_.nvls->intra, inter) * 5 / 6;
    }
    double intra =
        c_.nvls->intra * k_.nvls_efficiency[gpu_] * (n - 1) / n * 2;  // reduce and multicast at once
    double inter = c_.nvls->inter * (tree && c_.nodes <= 2 ? 2 : 1);
    double channel = std::min(intra, inter);
    if (tree) channel = std::min(channel, k_.nvls_tree_max[gpu_][scale_]);
    return n * channel * algbw_of_busbw();
  }

  [[nodiscard]] double step(Hardware hardware, Algorithm algorithm, Protocol protocol) const {
    return k_.step_latency[index(hardware)][index(algorithm)][index(protocol)];
  }

  [[nodiscard]] double network_step(Algorithm algorithm, Protocol protocol) const {
    bool as_tree = lone_gpus() && !k_.counts_last_steps;
    double nic = c_.nic_latency.value() * 1e6;
    if (protocol == Protocol::simple) nic *= 2;  // the flush
    return step(Hardware::network, as_tree ? Algorithm::tree : algorithm, protocol) + nic;
  }

  [[nodiscard]] double ring_steps(Protocol protocol, double intra, double inter) const {
    double steps = 2.0 * (c_.ranks - 1);
    if (c_.nodes == 1) return steps * intra;
    // Every step posts to the network.
    double post = (c_.cpu == Cpu::amd ? 2.0 : 1.0) * (protocol == Protocol::simple ? 3 : 1);
    double across = 2.0 * (k_.counts_last_steps ? c_.nodes : c_.nodes - 1);
    return (steps - across) * std::max(intra, post) + across * inter;
  }

  const Communicator& c_;
  const Constants& k_;
  std::size_t gpu_, scale_;  // rows and columns of the tables
};

// What NCCL lets its tuner choose from on this machine.
bool is_possible(const Communicator& communicator, Algorithm algorithm, Protocol protocol) {
  if (algorithm == Algorithm::ring || algorithm == Algorithm::tree) return true;
  // NVLS across nodes needs a network that reduces (SHARP), which is not modelled.
  bool fits = (algorithm == Algorithm::nvls) == (communicator.nodes == 1);
  return communicator.nvls && fits && protocol == Protocol::simple;
}

// With channels as fast as they run.
Communicator as_run(Communicator communicator) {
  auto speed_up = [](Graph& graph) {
    graph.intra *= graph.gain;
    graph.inter *= graph.gain;
  };
  speed_up(communicator.ring);
  speed_up(communicator.tree);
  if (communicator.nvls) speed_up(*communicator.nvls);
  return communicator;
}

bool is_enabled(const Communicator& communicator, Protocol protocol) {
  return protocol != Protocol::ll128 || communicator.nvlink || communicator.ranks == communicator.nodes;
}

}  // namespace

Tuner::Tuner(const Communicator& communicator, const Allowed& allowed) : communicator_(communicator) {
  DDPSIM_CHECK(communicator.ranks > 1 && communicator.ranks >= communicator.nodes, "two ranks, one a node");
  Formulas formulas(communicator_);
  auto running = as_run(communicator_);
  Formulas as_it_runs(running);
  for (auto algorithm : {Algorithm::tree, Algorithm::ring, Algorithm::nvls, Algorithm::nvls_tree})
    for (auto protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      bool is_allowed = allowed.algorithms.empty() || contains(allowed.algorithms, algorithm);
      is_allowed &= allowed.protocols.empty() ? is_enabled(communicator_, protocol)
                                              : contains(allowed.protocols, protocol);
      if (!is_allowed || !is_possible(communicator_, algorithm, protocol)) continue;
      double algbw = formulas.algbw(algorithm, protocol);
      if (algbw <= 0) continue;
      bool is_nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
      int channels = is_nvls                        ? communicator_.nvls->channels
                     : algorithm == Algorithm::tree ? communicator_.tree.channels
                                                    : communicator_.ring.channels;
      candidates_.push_back(
          {algorithm, protocol, channels, Seconds(formulas.latency(algorithm, protocol) * 1e-6),
           BytesPerSecond(algbw * 1e9), BytesPerSecond(as_it_runs.algbw(algorithm, protocol) * 1e9)});
    }
}

Seconds Tuner::time(const Candidate& candidate, Bytes bytes) const {
  return time_at(candidate.rate, candidate, bytes);
}

Seconds Tuner::time_at(BytesPerSecond algbw, const Candidate& candidate, Bytes bytes) const {
  auto latency = candidate.latency;
  if (candidate.algorithm == Algorithm::tree) algbw = algbw * tree_correction(candidate.protocol, bytes);
  if (candidate.algorithm == Algorithm::nvls_tree && communicator_.gpu == Gpu::blackwell &&
      communicator_.version == Version::v2_30_7)
    algbw = algbw * tree_correction(candidate.protocol, bytes);
  // "Plateau effect of ring": connect.cc gives a communicator twice the channels of its graph.
  bool on_plateau = bytes.value() / (2.0 * communicator_.ring.channels * communicator_.ranks) >= 64;
  if (candidate.algorithm == Algorithm::ring && candidate.protocol == Protocol::simple &&
      communicator_.nodes > 1 && on_plateau)
    latency = latency * (communicator_.gpu == Gpu::volta ? 1.9 : 1.4);
  return latency + bytes / algbw;
}

const Candidate& Tuner::choose(Bytes bytes) const {
  DDPSIM_CHECK(!candidates_.empty(), "something is allowed");
  auto counted = [&](const Candidate& candidate) { return time_at(candidate.algbw, candidate, bytes); };
  return *std::min_element(candidates_.begin(), candidates_.end(),
                           [&](const auto& a, const auto& b) { return counted(a) < counted(b); });
}

}  // namespace ddpsim::nccl
