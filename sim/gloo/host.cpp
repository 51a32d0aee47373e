#include "sim/gloo/host.hpp"

namespace ddpsim::gloo {

using namespace ddpsim::literals;

Host usual_host() {
  return {
      // Fitted to the four rows of 2 processes in measurements/gloo/h20_host.csv (measurements/gloo/fit.py).
      .process_bandwidth = 1.29_GBps,
      .cached_bandwidth = 3.68_GBps,
      // The last-level cache of a server's processor as far as one machine may use it; assumed.
      .cache = 32_MiB,
      // Up to 6 processes a machine nothing of the kind is seen in these rows.
      .machine_bandwidth = std::nullopt,
      // An addition of float32 from memory by one core of an AMD EPYC (12 to 14 GB/s; 28 to 35 from its
      // cache). Types without vector instructions are slower.
      .reduction_bandwidth = 12_GBps,
      // Half of an all-reduce of 4 KiB between 2 processes: 0.2 ms on an EPYC, and in the benchmark of
      // meta-pytorch/torchft, pull request 199.
      .step_latency = 100_us,
  };
}

std::string_view usual_host_errors() {
  return "with 4 and 6 processes there -24 to +39 % off, between two other servers in bfloat16 -26 %";
}

}  // namespace ddpsim::gloo
