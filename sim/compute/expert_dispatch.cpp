#include "sim/compute/expert_dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

// Fitted to tables of github.com/ai-dynamo/aiconfigurator at 095f58a (Apache-2.0): `wideep_deepep_normal`,
// `wideep_deepep_ll` and `trtllm_alltoall`. Samples, and how far off these are: measurements/deepep.
struct Normal {
  double start, start_nodes;  // us: in a node; over several
  double sm, most;            // GB/s that a multiprocessor moves; that NVLink carries
  double token;               // bytes a token, besides its copies
  double relay;               // bytes over NVLink that a byte over the NIC costs
  double nic;                 // GB/s; 0: no bound was seen
};
struct Low {
  double start, start_expert, rate;  // in a node: us, us an expert, GB/s
  double start_nodes, nic;
};
struct Rack {
  double start, rate;
};
struct Machine {
  double nvlink, nic;  // GB/s of the machine that was measured
  Normal dispatch, combine;
  Low low_dispatch, low_combine;
};

// h100_sxm: 2,507 rows in a node of 8, 138 of each 2 and 4 nodes; h200_sxm's are the same. Eight nodes, 2 to
// 3 times slower, are left out.
constexpr Machine kHopper{450,
                          50,
                          {26, 38, 19.6, 412, 7750, 2.0, 48.5},
                          {39, 59, 24.1, 429, 15700, 6.6, 0},
                          {10, .010, 300, 22, 47},
                          {10, .005, 250, 30, 47}};
// b200_sxm: 2,484 rows in a node of 8. Nobody measured several: Hopper's relay and NIC, and a start half as
// long again.
constexpr Machine kBlackwell{900,
                             50,
                             {35, 45, 19.3, 420, 8660, 2.0, 48.5},
                             {47, 65, 26.7, 1160, 24300, 6.6, 0},
                             {16, .020, 575, 30, 47},
                             {16, .015, 700, 35, 47}};
// gb200: 2,622 rows in a host of 4. Several domains as above.
constexpr Machine kGraceBlackwell{900,
                                  50,
                                  {33, 45, 22.5, 476, 14600, 2.0, 48.5},
                                  {40, 65, 23.5, 495, 20000, 6.6, 0},
                                  {11, .020, 600, 30, 47},
                                  {11, .015, 750, 35, 47}};
// trtllm_alltoall of gb200, NVLinkTwoSided, 4, 16 and 64 ranks.
constexpr Rack kRackDispatch{12, 460}, kRackCombine{14, 420};

const Machine& machine_named(DispatchMachine machine) {
  switch (machine) {
    case DispatchMachine::hopper:
      return kHopper;
    case DispatchMachine::blackwell:
      return kBlackwell;
    case DispatchMachine::rack:
      break;
  }
  return kGraceBlackwell;
}

Seconds us(double time) {
  return Seconds(1e-6 * time);
}
// At so many GB/s.
double us_of(double bytes, double rate) {
  return bytes / rate / 1e3;
}

struct Rows {
  double dispatch, combine;  // bytes of a token
};
// What is combined has 16 bits. DeepEP sends a float32 scale for each 128 values of 8 bits.
Rows rows_of(const ExpertShape& shape, std::int64_t hidden) {
  auto h = static_cast<double>(hidden);
  if (shape.dispatch_type == DispatchType::bfloat16) return {2 * h, 2 * h};
  return {shape.dispatcher == Dispatcher::rack ? h : h * (1 + 4.0 / 128), 2 * h};
}

class Law {
 public:
  Law(const ExpertShape& shape, const Machine& machine, const DispatchLoad& load,
      const DispatchPlaces& places)
      : shape_(shape), load_(load), places_(places) {
    if (places.nvlink.value() > 0) nvlink_ = places.nvlink.value() / (1e9 * machine.nvlink);
    if (places.nic.value() > 0) nic_ = places.nic.value() / (1e9 * machine.nic);
  }

  // In a node tokens are sent once to each rank, over nodes once to each node and on from there.
  [[nodiscard]] Seconds normal(const Normal& kernel, double row) const {
    bool is_far = places_.nodes > 1;
    double copies = load_.tokens * row * reached(places_.ranks, load_.top_k), nic = 0;
    if (is_far) {
      int most = shape_.node_limit > 0 ? std::min(shape_.node_limit, places_.nodes) : places_.nodes;
      nic = load_.tokens * row * reached(most, load_.top_k) * far();
    }
    // Relaying is the multiprocessors' work: narrower links between GPUs do not slow it down, a slower NIC
    // feeds it as much slower.
    double lanes = shape_.dispatch_sms * kernel.sm;
    double busy = us_of(copies + load_.tokens * kernel.token, std::min(lanes, kernel.most * nvlink_)) +
                  us_of(kernel.relay * nic / std::min(1.0, nic_), std::min(lanes, kernel.most));
    double wire = kernel.nic > 0 ? us_of(nic, kernel.nic * nic_) : 0;
    return us((is_far ? kernel.start_nodes : kernel.start) +
              std::pow(std::pow(busy, 4) + std::pow(wire, 4), 0.25));
  }

  // Every copy travels, from whichever rank to whichever.
  [[nodiscard]] Seconds low_latency(const Low& kernel, double row) const {
    double sent = load_.tokens * static_cast<double>(load_.top_k) * row;
    if (places_.nodes > 1) return us(kernel.start_nodes + us_of(sent * far(), kernel.nic * nic_));
    return us(kernel.start + kernel.start_expert * static_cast<double>(load_.experts) +
              us_of(sent, kernel.rate * nvlink_));
  }

  [[nodiscard]] Seconds rack(const Rack& kernel, double row) const {
    double ranks = places_.ranks;
    return us(kernel.start +
              us_of(load_.tokens * row * reached(places_.ranks, load_.top_k) * (ranks - 1) / ranks,
                    kernel.rate * nvlink_));
  }

 private:
  // The share of what is spread over all nodes that leaves its own.
  [[nodiscard]] double far() const { return (places_.nodes - 1.0) / places_.nodes; }

  const ExpertShape& shape_;
  const DispatchLoad& load_;
  const DispatchPlaces& places_;
  double nvlink_ = 1, nic_ = 1;  // over those of the machine that was measured
};

}  // namespace

double reached(int places, std::int64_t top_k) {
  return places * (1 - std::pow(1 - 1.0 / places, static_cast<double>(top_k)));
}

std::optional<DispatchMachine> dispatch_machine(const GpuDescription& gpu, bool is_rack) {
  if (gpu.architecture == "hopper" && !is_rack) return DispatchMachine::hopper;
  if (gpu.architecture == "blackwell") return is_rack ? DispatchMachine::rack : DispatchMachine::blackwell;
  return std::nullopt;
}

// The rank that most tokens come to waits for as many times the mean.
DispatchLoad dispatch_load(const Transformer& model, const StepShape& shape) {
  return {.tokens = static_cast<double>(shape.routed()) * shape.expert.load,
          .hidden = model.hidden,
          .top_k = model.experts.top_k,
          .experts = model.experts.count};
}

DispatchBytes dispatch_bytes(const ExpertShape& shape, const DispatchLoad& load) {
  auto row = rows_of(shape, load.hidden);
  double copies =
      load.tokens * (shape.dispatcher == Dispatcher::deepep_low_latency ? static_cast<double>(load.top_k)
                                                                        : reached(shape.ranks, load.top_k));
  return {Bytes(copies * row.dispatch), Bytes(copies * row.combine)};
}

DispatchTimes dispatch_times(const ExpertShape& shape, DispatchMachine machine, const DispatchLoad& load,
                             const DispatchPlaces& places) {
  const auto& measured = machine_named(machine);
  Law law(shape, measured, load, places);
  auto row = rows_of(shape, load.hidden);
  if (shape.dispatcher == Dispatcher::rack)
    return {law.rack(kRackDispatch, row.dispatch), law.rack(kRackCombine, row.combine)};
  if (shape.dispatcher == Dispatcher::deepep_low_latency)
    return {law.low_latency(measured.low_dispatch, row.dispatch),
            law.low_latency(measured.low_combine, row.combine)};
  return {law.normal(measured.dispatch, row.dispatch), law.normal(measured.combine, row.combine)};
}

}  // namespace ddpsim
