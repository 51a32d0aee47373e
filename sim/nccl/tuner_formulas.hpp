#pragma once
// The formulas of NCCL's tuner for one communicator and operation (src/graph/tuning.cc: ncclTopoTuneModel).
// Latencies in us, bandwidths in GB/s.
#include "sim/nccl/communicator.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {

class TunerFormulas {
 public:
  TunerFormulas(const Communicator& communicator, Operation operation);

  // Zero where NCCL does not have that algorithm. Trees by an all-reduce, before their correction.
  [[nodiscard]] double algbw(Algorithm algorithm, Protocol protocol) const;
  [[nodiscard]] double latency(Algorithm algorithm, Protocol protocol) const;

 private:
  // A channel's bandwidth: what limits it across more than two nodes is the network.
  [[nodiscard]] double of_channel(const Graph& graph) const {
    return c_.nodes <= 2 ? graph.intra : graph.inter;
  }
  [[nodiscard]] bool gathers() const { return is_in_parts(operation_); }
  [[nodiscard]] double steps() const;  // of a ring
  [[nodiscard]] double algbw_of_busbw() const { return c_.ranks / steps(); }
  [[nodiscard]] int gpus_per_node() const { return c_.ranks / c_.nodes; }  // rounded down, as in NCCL
  [[nodiscard]] double mean_gpus_per_node() const { return 1.0 * c_.ranks / c_.nodes; }
  [[nodiscard]] bool lone_gpus() const { return c_.ranks == c_.nodes; }
  [[nodiscard]] double ll_max() const;

  [[nodiscard]] double ring_busbw(Protocol protocol) const;
  [[nodiscard]] double tree_busbw(Protocol protocol) const;
  [[nodiscard]] double nvls_algbw(bool tree) const;
  [[nodiscard]] double nvls_gather_algbw() const;
  [[nodiscard]] double nvls_switch_channel(bool tree) const;
  [[nodiscard]] double collnet_direct_algbw() const;

  [[nodiscard]] Hardware within() const { return c_.nvlink ? Hardware::nvlink : Hardware::pci; }
  [[nodiscard]] double step(Hardware hardware, Algorithm algorithm, Protocol protocol) const;
  [[nodiscard]] double network_step(Algorithm algorithm, Protocol protocol) const;
  [[nodiscard]] double ring_steps(Protocol protocol, double intra, double inter) const;
  [[nodiscard]] double one_way_steps(Protocol protocol) const;

  const Communicator& c_;
  const Constants& k_;
  Operation operation_;
  std::size_t gpu_, scale_;  // rows and columns of the tables
};

// The channels of CollNetDirect's graph: one a head.
int collnet_direct_channels(const Communicator& communicator);

}  // namespace ddpsim::nccl
