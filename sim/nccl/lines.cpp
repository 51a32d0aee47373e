#include "sim/nccl/lines.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim::nccl {
namespace {

constexpr int kMeasuredSteps = 7;           // of all-gathers; all-reduces take twice as many
constexpr double kChannels = 32;            // of a GPU to all of its peers together
constexpr double kChunk = 512 * 1024;       // of a message to a peer
constexpr double kManyChannelsPart = 8192;  // of LL, a channel
constexpr double kLatencyChunk = 2048;      // bytes a rank at which LL's latency has half risen

Seconds microseconds(double value) {
  return Seconds(value * 1e-6);
}

// Bytes over a share of the link, in us.
double over(double bytes, double share, BytesPerSecond link) {
  return bytes / (share * link.value()) * 1e6;
}

double bytes_sent(const LineMessage& m) {
  return m.bytes.value() * m.steps / m.ranks;
}

// Bytes over what of a machine a protocol's large messages get, in us.
double transfer(const RingLines& p, Protocol protocol, const LineMessage& m) {
  switch (protocol) {
    case Protocol::ll:
      return over(m.bytes.value(), p.ll_memory, m.link);
    case Protocol::ll128:
      return over(bytes_sent(m), p.ll128_link, m.link);
    case Protocol::simple:
      return over(bytes_sent(m), p.simple_link, m.link) + over(m.bytes.value(), p.simple_memory, m.link);
  }
  DDPSIM_CHECK(false, "every protocol has a line");
  return 0;
}

double ll(const RingLines& p, const LineMessage& m) {
  double bytes = m.bytes.value();
  double latency = p.ll_base + m.steps * p.ll_step;
  double chunks = bytes / (kLatencyChunk * m.ranks);
  double risen = chunks * chunks / (1 + chunks * chunks);
  return std::max(latency * (1 + p.ll_rise * risen), p.ll_slope * latency + transfer(p, Protocol::ll, m));
}

double simple(const RingLines& p, const LineMessage& m) {
  // No more steps were measured than 8 GPUs take.
  int steps = std::min(m.steps, m.steps > m.ranks ? 2 * kMeasuredSteps : kMeasuredSteps);
  double round =
      m.is_chain ? 0 : p.round_base + steps * p.round_step + over(bytes_sent(m), p.round_link, m.link);
  double pipelined = p.simple_base + m.steps * p.simple_step + transfer(p, Protocol::simple, m);
  return std::max(round, pipelined);
}

}  // namespace

Seconds ring_line(const RingLines& lines, Protocol protocol, const LineMessage& message) {
  switch (protocol) {
    case Protocol::ll:
      return microseconds(ll(lines, message));
    case Protocol::ll128:
      return microseconds(lines.ll128_base + message.steps * lines.ll128_step +
                          transfer(lines, protocol, message));
    case Protocol::simple:
      return microseconds(simple(lines, message));
  }
  DDPSIM_CHECK(false, "every protocol has a line");
  return {};
}

Seconds ring_transfer(const RingLines& lines, Protocol protocol, const LineMessage& message) {
  return microseconds(transfer(lines, protocol, message));
}

Seconds nvls_line(const RingLines& lines, double efficiency, const LineMessage& message) {
  double moved = over(message.bytes.value() * (1 + 1.0 / message.ranks), efficiency, message.link);
  return microseconds(std::min(lines.nvls_base + moved / lines.nvls_link,
                               lines.nvls_large_base + moved / lines.nvls_large_link));
}

Seconds peer_line(const PeerLines& lines, bool is_ll, bool over_many_channels, const LineMessage& message) {
  double n = message.ranks, bytes = message.bytes.value();
  double to_peer = bytes / n, leaves = (n - 1) / n;
  if (is_ll) {
    double time = lines.ll_base + lines.ll_rank * std::log2(n);
    if (!over_many_channels) return microseconds(time + to_peer / (lines.ll_rate * 1e3));
    double beyond = std::max(bytes - kManyChannelsPart * kChannels, 0.0);
    return microseconds(time + std::min(to_peer, kManyChannelsPart) / (lines.ll_rate * 1e3) +
                        over(beyond * leaves, lines.ll_link, message.link));
  }
  // Parts of an eighth of a chunk until all channels are used.
  double part = to_peer <= kChunk / 8 ? to_peer : std::max(kChunk / 8, bytes / kChannels);
  double whole = part * kChannels, first = std::min(whole, kChunk * kChannels), rest = whole - first;
  auto moved = [&](double sent, double link, double memory, BytesPerSecond wire) {
    return over(sent * leaves, link, wire) + over(sent, memory, wire);
  };
  // What idle parts take is no traffic: it is as on the machines that were measured, however narrow the link.
  double data = std::min(first, bytes);
  return microseconds(lines.base + lines.rank * std::log2(n) +
                      moved(data, lines.first_link, lines.first_memory, message.link) +
                      moved(first - data, lines.first_link, lines.first_memory, message.class_link) +
                      moved(rest, lines.link, lines.memory, message.link));
}

}  // namespace ddpsim::nccl
