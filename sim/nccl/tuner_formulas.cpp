#include "sim/nccl/tuner_formulas.hpp"

#include <algorithm>
#include <bit>

namespace ddpsim::nccl {
namespace {

using NvlsChannel = Constants::NvlsChannel;
using NvlsGather = Constants::NvlsGather;

template <class Word>
std::size_t index(Word word) {
  return static_cast<std::size_t>(word);
}

}  // namespace

// search.cc: NCCL_MAX_DIRECT_ARITY + 1 heads at most.
int collnet_direct_channels(const Communicator& communicator) {
  return std::min({communicator.collnet_heads, 8, communicator.ranks / communicator.nodes});
}

TunerFormulas::TunerFormulas(const Communicator& communicator, Operation operation)
    : c_(communicator),
      k_(constants(communicator.version)),
      operation_(operation),
      gpu_(index(generation_of(communicator.gpu))),
      scale_(static_cast<std::size_t>(std::min(communicator.nodes, 3) - 1)) {}

double TunerFormulas::steps() const {
  return ddpsim::ring_steps(operation_, c_.ranks);
}

double TunerFormulas::ll_max() const {
  std::size_t row = c_.nodes == 1 ? gpu_ : c_.cpu == Cpu::amd ? 1 : 0;
  return k_.ll_max[row][scale_];
}

double TunerFormulas::algbw(Algorithm algorithm, Protocol protocol) const {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_busbw(protocol) * algbw_of_busbw();
    case Algorithm::tree:
      return tree_busbw(protocol) * 0.5;
    case Algorithm::collnet_direct:
      return collnet_direct_algbw();
    case Algorithm::collnet_chain:
      return c_.ring.channels * c_.ring.intra * 0.5;  // its graph has the rings' channels
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return gathers() ? nvls_gather_algbw() : nvls_algbw(algorithm == Algorithm::nvls_tree);
    case Algorithm::pat:
      return c_.tree.channels * of_channel(c_.tree) * k_.pat_share;
    case Algorithm::symmetric:
    case Algorithm::symmetric_multicast:
      break;
  }
  return 0;
}

double TunerFormulas::latency(Algorithm algorithm, Protocol protocol) const {
  if (is_symmetric(algorithm)) return 0;
  double base = k_.base_latency[index(algorithm)][index(protocol)];
  double intra = step(within(), algorithm, protocol);
  double inter = network_step(algorithm, protocol);
  double depth = std::bit_width(static_cast<unsigned>(c_.nodes)) - 1;  // of the tree of nodes
  int others = gpus_per_node() - 1;
  switch (algorithm) {
    case Algorithm::ring:
      if (is_chain(operation_)) return base + one_way_steps(protocol);
      return base + ring_steps(protocol, intra, inter);
    case Algorithm::tree:
      return base + 2 * (others * intra + depth * inter);
    case Algorithm::collnet_direct:
      return base + 2 * (std::min(1, others) * intra + others * k_.collnet_arity_latency) + inter;
    case Algorithm::collnet_chain:
      return base + 2 * others * intra + inter;
    case Algorithm::nvls:
      return base + intra + (c_.nodes > 1 ? inter : 0);
    case Algorithm::nvls_tree:
      if (k_.nvls_tree_is_a_tree) return base + intra + 2 * depth * inter;
      return base + 2 * (c_.nodes - 1) * step(Hardware::network, algorithm, protocol);
    case Algorithm::pat:
      return base + depth * (inter / 3.5) + c_.ranks * 2.8;
    case Algorithm::symmetric:
    case Algorithm::symmetric_multicast:
      break;
  }
  return 0;
}

double TunerFormulas::ring_busbw(Protocol protocol) const {
  double all = c_.ring.channels * of_channel(c_.ring);
  if (protocol == Protocol::ll) {
    bool adds = reduces(operation_) && !gathers();
    return std::min(ll_max(), all * (c_.nodes > 1 || adds ? k_.ring_ll_share : k_.ring_ll_share_in_node));
  }
  if (protocol == Protocol::simple) return all;
  double share = c_.ranks < 2 * c_.nodes ? k_.lone_gpu_ll128 : 0.92;  // 120 of 128 bytes are data
  return std::min(all * share, c_.ring.channels * k_.ring_ll128_max[gpu_][scale_]);
}

double TunerFormulas::tree_busbw(Protocol protocol) const {
  double all =
      std::min(c_.tree.channels * of_channel(c_.tree) * 0.92, c_.tree.channels * k_.tree_max[gpu_][scale_]);
  // search.cc: one GPU has no balanced tree either
  double of_pattern = lone_gpus() || c_.plain_tree ? k_.plain_tree : 1;
  if (protocol == Protocol::ll) return std::min(all / 3.8, ll_max()) * of_pattern;
  if (protocol == Protocol::simple) return all * of_pattern;
  return std::min(all * (c_.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                  c_.tree.channels * k_.tree_ll128_max[gpu_][scale_]) *
         of_pattern;
}

// What a channel through a switch that reduces moves, since 2.28.3.
double TunerFormulas::nvls_switch_channel(bool tree) const {
  double heads = c_.nvls->channels;
  double intra = c_.nvls->intra * k_.nvls_efficiency[gpu_] * (heads - 1) / heads;
  // An all-reduce reduces and multicasts at once; of a gather a GPU keeps its own part.
  double p = mean_gpus_per_node();
  intra *= gathers() ? (p - 1) / p : 2;
  double inter = c_.nvls->inter * (tree && c_.nodes <= 2 ? 2 : 1);
  double channel = std::min(intra, inter);
  return tree ? std::min(channel, k_.nvls_tree_max[gpu_][scale_]) : channel;
}

double TunerFormulas::nvls_algbw(bool tree) const {
  if (!c_.nvls) return 0;
  double heads = c_.nvls->channels;
  if (k_.nvls_channel == NvlsChannel::efficiency) return heads * nvls_switch_channel(tree) * algbw_of_busbw();
  if (k_.nvls_channel == NvlsChannel::narrower) {
    double inter = tree && c_.nodes > 2 ? c_.nvls->inter / 2 : c_.nvls->inter;
    return heads * std::min(c_.nvls->intra, inter) * k_.nvls_ratio;
  }
  return heads * of_channel(*c_.nvls) * (tree ? 0.7 * c_.nodes / (2.0 * (c_.nodes - 1)) : k_.nvls_ratio);
}

double TunerFormulas::nvls_gather_algbw() const {
  if (!c_.nvls) return 0;
  double heads = c_.nvls->channels, p = mean_gpus_per_node();
  if (k_.nvls_channel == NvlsChannel::efficiency) return heads * nvls_switch_channel(false);
  switch (k_.nvls_gather) {
    case NvlsGather::none:
      return 0;
    case NvlsGather::as_all_reduce:
      return heads * std::min(c_.nvls->intra, c_.nvls->inter) * k_.nvls_ratio;
    case NvlsGather::whole:
      return heads * std::min(c_.nvls->intra, c_.nvls->inter);
    case NvlsGather::shared:
      return heads * std::min(c_.nvls->intra * (p - 1) / p, c_.nvls->inter * 0.9);
  }
  return 0;
}

double TunerFormulas::collnet_direct_algbw() const {
  double channels = collnet_direct_channels(c_), p = mean_gpus_per_node();
  if (!gathers()) {
    double factor = p / channels;  // GPUs a NIC
    factor -= (factor - 1) / 2;
    return channels * c_.ring.intra / factor * (c_.gpu >= Gpu::hopper ? 0.85 : 1) * 0.5;
  }
  if (k_.collnet_gather == Constants::CollnetGather::narrower)
    return p * std::min(c_.ring.intra, c_.ring.inter * 0.9);
  double eight = (p - 1) / 7;  // 0.95 of it with one GPU a node, 0.85 with eight
  return p * c_.ring.intra * (eight * 0.85 + (1 - eight) * 0.95);
}

double TunerFormulas::step(Hardware hardware, Algorithm algorithm, Protocol protocol) const {
  return k_.step_latency[index(hardware)][index(algorithm)][index(protocol)];
}

double TunerFormulas::network_step(Algorithm algorithm, Protocol protocol) const {
  bool as_tree = lone_gpus() && k_.lone_gpus_step_as_trees;
  double nic = c_.tuner_nic_latency.value() * 1e6;
  if (protocol == Protocol::simple) nic *= 2;  // the flush
  return step(Hardware::network, as_tree ? Algorithm::tree : algorithm, protocol) + nic;
}

double TunerFormulas::ring_steps(Protocol protocol, double intra, double inter) const {
  if (c_.nodes == 1) return steps() * intra;
  // Every step posts to the network.
  double post = (c_.cpu == Cpu::amd ? 2.0 : 1.0) * (protocol == Protocol::simple ? 3 : 1);
  double across = c_.nodes - 1;
  if (!gathers()) across = 2.0 * (k_.counts_last_steps ? c_.nodes : c_.nodes - 1);
  return (steps() - across) * std::max(intra, post) + across * inter;
}

// Of a broadcast or reduction: rings in one order are one pipeline, others wait for every rank.
double TunerFormulas::one_way_steps(Protocol protocol) const {
  auto hardware = c_.nodes == 1 ? within() : Hardware::network;
  if (c_.same_channels) return step(hardware, Algorithm::ring, protocol);
  bool waits_for_chunks = protocol == Protocol::simple;
  return steps() * step(hardware, waits_for_chunks ? Algorithm::tree : Algorithm::ring, protocol);
}

}  // namespace ddpsim::nccl
