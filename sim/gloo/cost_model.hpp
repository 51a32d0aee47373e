#pragma once
// What collectives of GPU tensors take with PyTorch's Gloo: a copy to the host, TCP between processes, a copy
// back (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, AsyncAllreduceCUDAWork and AsyncBroadcastCUDAWork).
#include <optional>

#include "sim/gloo/host.hpp"

namespace ddpsim::gloo {

// Who takes part, and what joins them.
struct Group {
  int ranks = 0;
  int ranks_per_machine = 0;              // on the machine with most of them
  std::optional<BytesPerSecond> network;  // for each rank that sends to another machine; none: one machine
  Seconds network_latency;
  std::optional<BytesPerSecond> copy;  // between a GPU and its host, all GPUs at once; none: CPU tensors
};

class CostModel {
 public:
  CostModel(const Host& host, const Group& group) : host_(host), group_(group) {}

  [[nodiscard]] Seconds all_reduce(Bytes bytes) const;
  // From rank 0.
  [[nodiscard]] Seconds broadcast(Bytes bytes) const;
  [[nodiscard]] const Group& group() const { return group_; }

 private:
  // Of a process that sends so much of its buffer of `bytes`, if nothing else bounds it.
  [[nodiscard]] Seconds process_time(Bytes sent, Bytes bytes) const;
  // At least what the machine and the network need, `senders` processes of a machine sending so much each.
  [[nodiscard]] Seconds bounded(Seconds time, Bytes sent, double senders) const;
  [[nodiscard]] Seconds copies(Bytes bytes) const;

  Host host_;
  Group group_;
};

}  // namespace ddpsim::gloo
