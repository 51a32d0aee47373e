#pragma once
// Flows on single cables of uplinks, as ECMP puts them there.
#include <cstdint>

namespace ddpsim {

// All that goes from one NIC to another is cut into `hashes` equal parts, each on a cable of its own that a
// hash chooses. Two: NCCL has at least two channels a NIC (src/graph/connect.cc doubles one that a search
// finds), each with its own queue pair (NCCL_IB_QPS_PER_CONNECTION is 1).
struct Hashing {
  std::uint64_t seed = 0;
  int hashes = 2;
  bool operator==(const Hashing&) const = default;
};

}  // namespace ddpsim
