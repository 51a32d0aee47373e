#pragma once
// What a collective takes inside an NVLink node: NCCL's tuner picks the protocol, and each protocol has a
// line, latency plus bytes over bandwidth, whose parameters are physical and move little between machines of
// one class (docs/nccl.md, "Inside an NVLink node": where the forms come from and what they were judged
// on). Latencies in us; bandwidths as shares of X, what a GPU sends over all of its NVLinks by its data
// sheet.
#include <array>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/nccl/communicator.hpp"

namespace ddpsim::nccl {

// Of all_reduce, all_gather or reduce_scatter; k steps, of which each GPU sends a share f of the buffer.
struct RingLines {
  double ll_base, ll_step;              // LL: L = base + k step,
  double ll_rise, ll_slope, ll_memory;  // how L rises with the chunks, then slope L + S / (memory X)
  double ll128_base, ll128_step, ll128_link;
  // Simple while a round of chunks fills it: every step waits. Then rounds are pipelined: link and memory.
  double round_base, round_step, round_link;
  double simple_base, simple_step, simple_link, simple_memory;
  double nvls_base, nvls_link;              // NVLS, chunks while they are small
  double nvls_large_base, nvls_large_link;  // and large

  [[nodiscard]] bool operator==(const RingLines&) const = default;
};

// Of all_to_all, and of a send or receive, which is an all_to_all of two GPUs.
struct PeerLines {
  double ll_base, ll_rank, ll_rate;  // LL: base + rank log2 n + bytes a peer / rate (GB/s)
  double ll_link;                    // 2.22 to 2.28 spread LL over many channels: beyond 8 KiB a channel
  double base, rank;                 // Simple
  double first_link, first_memory;   // until every channel has a chunk
  double link, memory;               // beyond

  [[nodiscard]] bool operator==(const PeerLines&) const = default;
};

// A parameter as files name it, what is believed of it before anything is measured, and its bounds.
template <class Lines>
struct LineParameter {
  std::string_view name;
  double Lines::*value;
  double start, least, most;
  bool is_latency = false;  // in us
};

inline constexpr std::array<LineParameter<RingLines>, 19> kRingParameters{
    {{"ll_base", &RingLines::ll_base, 5, 0.5, 40, true},
     {"ll_step", &RingLines::ll_step, 0.9, 0.05, 6, true},
     {"ll_rise", &RingLines::ll_rise, 0.35, 0.01, 1},
     {"ll_slope", &RingLines::ll_slope, 1.2, 0.5, 2},
     {"ll_memory", &RingLines::ll_memory, 0.38, 0.01, 4},
     {"ll128_base", &RingLines::ll128_base, 12, 1, 40, true},
     {"ll128_step", &RingLines::ll128_step, 1.5, 0.1, 8, true},
     {"ll128_link", &RingLines::ll128_link, 0.65, 0.05, 2},
     {"round_base", &RingLines::round_base, 12, 1, 80, true},
     {"round_step", &RingLines::round_step, 6, 0.1, 20, true},
     {"round_link", &RingLines::round_link, 1.2, 0.05, 6},
     {"simple_base", &RingLines::simple_base, 15, 1, 80, true},
     {"simple_step", &RingLines::simple_step, 2, 0.1, 10, true},
     {"simple_link", &RingLines::simple_link, 1.3, 0.02, 6},
     {"simple_memory", &RingLines::simple_memory, 1.5, 0.02, 10},
     {"nvls_base", &RingLines::nvls_base, 30, 1, 90, true},
     {"nvls_link", &RingLines::nvls_link, 0.47, 0.05, 1},
     {"nvls_large_base", &RingLines::nvls_large_base, 80, 1, 200, true},
     {"nvls_large_link", &RingLines::nvls_large_link, 0.77, 0.05, 1.2}}};

inline constexpr std::array<LineParameter<PeerLines>, 10> kPeerParameters{
    {{"ll_base", &PeerLines::ll_base, 7, 0.5, 40, true},
     {"ll_rank", &PeerLines::ll_rank, 1, 0.05, 5, true},
     {"ll_rate", &PeerLines::ll_rate, 7, 0.1, 400},
     {"ll_link", &PeerLines::ll_link, 0.25, 0.02, 5},
     {"base", &PeerLines::base, 11, 0.5, 40, true},
     {"rank", &PeerLines::rank, 0.5, 0.05, 5, true},
     {"first_link", &PeerLines::first_link, 0.75, 0.02, 8},
     {"first_memory", &PeerLines::first_memory, 1.5, 0.02, 20},
     {"link", &PeerLines::link, 1.5, 0.02, 12},
     {"memory", &PeerLines::memory, 1.2, 0.02, 20}}};

// Of `ranks` GPUs; `bytes` is the whole buffer (of all ranks' parts together), `link` is X.
struct LineMessage {
  int ranks;
  int steps;  // 2 (n-1) of an all_reduce, n-1 of the others
  Bytes bytes;
  BytesPerSecond link;
  BytesPerSecond class_link = link;  // of the machines whose lines these are; of all-to-all only
  bool is_chain = false;             // whose hops follow one another
};
Seconds ring_line(const RingLines& lines, Protocol protocol, const LineMessage& message);
// What of it is bytes over link and memory, once rounds are pipelined; no latency.
Seconds ring_transfer(const RingLines& lines, Protocol protocol, const LineMessage& message);
// `efficiency`: what NCCL counts of NVLS's bandwidth (constants.hpp).
Seconds nvls_line(const RingLines& lines, double efficiency, const LineMessage& message);
// Whether a peer's part goes as LL, and over many channels (tuner.hpp); steps does not count.
Seconds peer_line(const PeerLines& lines, bool is_ll, bool over_many_channels, const LineMessage& message);

NodeClass class_of(const Communicator& communicator);
BytesPerSecond class_link(NodeClass node_class);    // its X
std::string_view class_text(NodeClass node_class);  // "class A100, not this machine"

// Of a machine of that class of which nothing was measured; of an unknown one the geometric mean of the
// three generations.
struct ClassLines {
  RingLines all_reduce, all_gather, reduce_scatter;
  PeerLines all_to_all;
};
const ClassLines& class_lines(NodeClass node_class);

}  // namespace ddpsim::nccl
