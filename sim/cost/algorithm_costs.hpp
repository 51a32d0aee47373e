#pragma once
// What each collective costs on a cluster with each algorithm, while nobody else uses the links.
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

struct AlgorithmCost {
  std::string operation;  // "all_reduce"
  std::string algorithm;  // "ring"
  int channels = 1;
  std::optional<Seconds> time;
  std::string why_not;      // without a time: why this cluster cannot do it
  double busbw_factor = 1;  // busbw / algbw, as nccl-tests defines it (doc/PERFORMANCE.md)
};

// Of all of the cluster's GPUs, for a buffer of `bytes`.
std::vector<AlgorithmCost> algorithm_costs(const Cluster& cluster, Bytes bytes);

}  // namespace ddpsim
