#pragma once
// A topology file: a cluster of any size (kinds ring and cluster) or one machine (kind graph).
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/fabric.hpp"
#include "sim/topology/hashing.hpp"
#include "sim/topology/nccl_platform.hpp"

namespace ddpsim {

// What is different about some links: slower, later or broken.
struct LinkOverride {
  std::string link;  // a name of Cluster::links_named
  std::optional<BytesPerSecond> bandwidth;
  std::optional<Seconds> latency;
  bool broken = false;
  SourceSpan span;
};
// How many GPUs the sources of a file describe, and what larger clusters are made of all the same.
struct Extent {
  int gpus = 0;
  std::string beyond;  // a phrase
};

class Topology {
 public:
  virtual ~Topology() = default;
  // The cluster of the nodes that `gpus` GPUs need, with the file's own overrides and then these applied.
  // Throws InputError for a size it cannot have (naming the sizes it can) and for names it does not have.
  // `hashing`: flows go over single cables of uplinks; check_hashing() comes first.
  [[nodiscard]] virtual std::shared_ptr<const Cluster> build(int gpus,
                                                             std::span<const LinkOverride> overrides = {},
                                                             std::optional<Hashing> hashing = {}) const = 0;
  // Throws InputError (without a place) unless it has uplinks at this size, and a whole number of them.
  virtual void check_hashing(int gpus) const;
  // The GPUs of one node, or all that a graph names; nullopt where any number is as good.
  [[nodiscard]] virtual std::optional<int> usual_size() const = 0;
  // The GPUs of one node, where there may be any number of nodes.
  [[nodiscard]] virtual std::optional<int> node_size() const { return std::nullopt; }
  // The same, where a node is an NVLink domain of more GPUs than a host has: a rack.
  [[nodiscard]] virtual std::optional<int> rack_size() const { return std::nullopt; }

  std::optional<NcclPlatform> nccl;  // where the file describes it
  // Its links are a network between processes, such as a testbed's, and not those of GPUs in machines.
  bool bare_network = false;
  bool has_xgmi = false;                // AMD's links join its GPUs: NCCL's model says nothing of them
  std::optional<NetworkClass> network;  // between nodes, where the file says it
  nccl::Cloud cloud = nccl::Cloud::none;
  std::optional<std::string> gpu;  // path of the description of its GPUs, where the file names one
  std::optional<Extent> extent;
};

// Throws InputError (without a place) when the topology does not describe NCCL's platform; `name` is its
// file.
const NcclPlatform& require_nccl(const Topology& topology, const std::string& name);

}  // namespace ddpsim
