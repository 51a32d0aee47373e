#include "sim/nccl/p2p.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

using LowLatency = Constants::P2pLowLatency;

constexpr double kKiB = 1024;
constexpr double kLowLatencyMost = 16 * kKiB;  // NCCL_P2P_LL_THRESHOLD
constexpr double kLowLatencyStep = 64 * kKiB;  // a slot of LL's buffer; half of it are flags
constexpr double kNvlinkChunk = 512 * kKiB;    // NCCL_P2P_NVL_CHUNKSIZE
constexpr double kOtherChunk = 128 * kKiB;     // NCCL_P2P_PCI_CHUNKSIZE, NCCL_P2P_NET_CHUNKSIZE
constexpr double kMostStepsAPart = 32;         // within a node
constexpr int kNetworkChannels = 2;            // NCCL_NCHANNELS_PER_NET_PEER
constexpr int kOperationsAChannel = 4;         // beyond, a peer gets less channels

int power_of_two(int channels) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(channels)));
}

// Of all peers and of one.
struct Channels {
  int all, per_peer;
};

Channels channels_of(const Communicator& c) {
  const auto& known = constants(c.version);
  int used = std::min(known.max_channels, 2 * c.ring.channels);  // connect.cc doubles a graph's
  int per_peer = 2;
  if (c.nodes == 1 && c.nvlink && c.same_channels) {
    // Two for each NVLink towards a switch.
    double link = traits_of(c.gpu).nvlink * 1e9;
    per_peer = 2 * std::max(1, static_cast<int>(c.nvlink_peak.value() / link + 1e-6));
  }
  if (c.nodes > 1) per_peer = kNetworkChannels;
  Channels channels{power_of_two(used), power_of_two(std::min(used, per_peer))};
  channels.per_peer = std::min(channels.per_peer, channels.all);
  if (known.p2p_low_latency == LowLatency::of_part || c.nodes > 1)
    while (channels.per_peer * c.ranks > kOperationsAChannel * channels.all && channels.per_peer > 1)
      channels.per_peer /= 2;
  return channels;
}

struct Split {
  int channels;
  double part;
};

// Over all channels of a peer, unless other peers need them, in parts that are neither small nor large.
Split split(const Communicator& c, Channels channels, double message, double step) {
  double least = c.nodes > 1 ? step * constants(c.version).p2p_least_part_across_nodes : step / 8;
  double most = c.nodes > 1 ? step : step * kMostStepsAPart;
  int at_first = channels.per_peer;
  while (at_first * c.ranks > channels.all && at_first > 1) at_first /= 2;
  Split split{std::min(at_first, static_cast<int>(std::max(1.0, std::ceil(message / least)))), 0};
  split.part = std::max(least, std::ceil(message / split.channels));
  while (split.part > most && split.channels <= channels.per_peer / 2) {
    split.channels *= 2;
    split.part = std::ceil(message / split.channels);
  }
  if (constants(c.version).p2p_low_latency == LowLatency::of_part) {
    split.part = std::ceil(split.part / least) * least;
    split.channels = static_cast<int>(std::ceil(message / split.part));
  }
  split.part = std::min(split.part, message);
  return split;
}

double chunk_of(const Communicator& c, Protocol protocol, double message, double step) {
  if (protocol == Protocol::ll) return kLowLatencyStep / 2;
  if (c.nodes == 1) return step;
  return message < step ? step / 4 : message < 8 * step ? step / 2 : step;
}

}  // namespace

P2pPlan p2p_plan(const Communicator& c, Bytes message) {
  DDPSIM_CHECK(message > Bytes(0), "something to send");
  double bytes = message.value();
  double step = c.nodes == 1 && c.nvlink ? kNvlinkChunk : kOtherChunk;
  auto channels = channels_of(c);
  auto plan = split(c, channels, bytes, step);
  auto protocol = Protocol::simple;
  if (c.nodes == 1) {
    auto rule = constants(c.version).p2p_low_latency;
    double most = kLowLatencyMost;
    if (rule == LowLatency::of_channels_a_peer) most *= channels.per_peer;
    if (rule == LowLatency::of_channels_in_use) most *= plan.channels;
    double compared = rule == LowLatency::of_part ? plan.part : bytes;
    if (compared <= most) protocol = Protocol::ll;
    // Only these split by the protocol's own steps.
    if (protocol == Protocol::ll && rule == LowLatency::of_channels_a_peer)
      plan = split(c, channels, bytes, kLowLatencyStep);
  }
  return {protocol, channels.per_peer, plan.channels, Bytes(plan.part),
          Bytes(chunk_of(c, protocol, bytes, step))};
}

}  // namespace ddpsim::nccl
