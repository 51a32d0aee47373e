#pragma once
// What an all-reduce of GPU tensors takes with PyTorch's Gloo: a copy to the host, a ring over TCP, a copy
// back (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, AsyncAllreduceCUDAWork; gloo/allreduce.cc).
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

class AllReduceCost {
 public:
  AllReduceCost(const Host& host, const Group& group) : host_(host), group_(group) {}

  [[nodiscard]] Seconds operator()(Bytes bytes) const;

 private:
  [[nodiscard]] Seconds ring_transfer(Bytes bytes) const;

  Host host_;
  Group group_;
};

}  // namespace ddpsim::gloo
