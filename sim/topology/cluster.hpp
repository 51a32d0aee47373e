#pragma once
// A topology at a given size: its GPUs and links, and which links carry what between two GPUs. Repeated
// structure is kept once, so that a large cluster costs what its description costs.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/memo.hpp"
#include "sim/base/source.hpp"
#include "sim/base/units.hpp"
#include "sim/nccl/transport.hpp"

namespace ddpsim {

// One direction of a cable (or of several in parallel). `latency` is paid once by every message, `bandwidth`
// shared by all messages in flight.
struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;
};

// What a link is made of, for tables. `xgmi` joins AMD's GPUs, `memory` is a host's, `host_bridge` leads to a
// host bridge, `numa_node` joins host bridges of one NUMA node, `socket` NUMA nodes.
enum class Medium { nvlink, xgmi, memory, pcie, host_bridge, numa_node, socket, network };
struct Cable {
  Medium medium;
  int count = 0;  // in parallel; 0: not known
};

struct Route {
  std::vector<int> links;    // ids, in order
  Seconds latency;           // of all links together
  BytesPerSecond bandwidth;  // of the narrowest link
};

struct ClusterGraph;

class Cluster {
 public:
  virtual ~Cluster() = default;

  [[nodiscard]] virtual int gpus() const = 0;
  [[nodiscard]] virtual int nodes() const = 0;
  [[nodiscard]] virtual int node_of(int gpu) const = 0;
  [[nodiscard]] virtual int position_of(int gpu) const = 0;       // in its node, from 0
  [[nodiscard]] virtual std::string gpu_name(int gpu) const = 0;  // "node3.gpu2"
  // The first node with the same links, inside and on the cables of its NICs: what is found for one holds for
  // the other. A node with changed links or idle GPUs is like no other.
  [[nodiscard]] virtual int like_node(int node) const = 0;
  // The first node that is like this one and hangs off the same switches. Between any third node and either
  // of the two routes are the same, but for the two's own links, which are numbered alike from
  // own_links(node).first on. A cluster that knows of no such nodes says that each is its own.
  struct LinkRange {
    int first = 0, count = 0;
    [[nodiscard]] bool has(int link) const { return link >= first && link < first + count; }
  };
  [[nodiscard]] virtual int twin_of(int node) const { return node; }
  [[nodiscard]] virtual LinkRange own_links(int /*node*/) const { return {}; }

  // The switches above a node, of each of its NICs, by numbers of their own: routes between nodes depend on
  // which of theirs are the same, and on what the nodes are like. None: routes between nodes are each their
  // own.
  [[nodiscard]] virtual std::optional<std::vector<int>> switches_above(int /*node*/) const {
    return std::nullopt;
  }

  // What ranks know when they choose rings and algorithms: where flows are hashed onto single cables of
  // uplinks, the cluster whose flows spread evenly over all of them. Its links have ids of its own.
  [[nodiscard]] virtual const Cluster& without_hashing() const { return *this; }

  // Into how many equal parts each flow between two NICs is cut, every one on cables of its own; the links
  // that one of them takes instead of these: a route of this cluster's is that of part 0.
  [[nodiscard]] virtual int hashes() const { return 1; }
  [[nodiscard]] virtual std::vector<int> of_hash(std::span<const int> route, int /*hash*/) const {
    return {route.begin(), route.end()};
  }

  // Link ids count from 0 to links() - 1.
  [[nodiscard]] virtual int links() const = 0;
  [[nodiscard]] virtual Link link(int id) const = 0;  // as degraded; broken links keep their figures
  [[nodiscard]] virtual bool broken(int /*id*/) const { return false; }
  [[nodiscard]] virtual std::string link_name(int id) const = 0;
  [[nodiscard]] virtual Cable cable(int /*id*/) const { return {Medium::network}; }
  // The links a user's name stands for: both directions, or one. Throws InputError at `place` with a
  // suggestion.
  [[nodiscard]] virtual std::vector<int> links_named(const std::string& name,
                                                     const SourceSpan& place) const = 0;

  // The shortest way by number of links, then the widest, then always the same one; around broken links.
  // GPUs do not forward, except between the network and their own node: there traffic may change GPUs to use
  // the NIC of another one (what NCCL calls PXN). No way leads through a third node; the way to oneself has
  // no links.
  [[nodiscard]] virtual std::optional<Route> find_route(int from_gpu, int to_gpu) const = 0;
  // The same; throws InputError when there is none, saying which broken link is in the way if one is.
  [[nodiscard]] virtual Route route(int from_gpu, int to_gpu) const = 0;
  // Between GPUs of one node by way of the memory of the receiver's host; nullopt: its place is not known.
  [[nodiscard]] virtual std::optional<Route> through_host(int /*from_gpu*/, int /*to_gpu*/) const {
    return std::nullopt;
  }
  // Of its node.
  [[nodiscard]] virtual nccl::PcieHost pcie_host(int /*gpu*/) const { return {}; }
  // To and from the switch of the GPU's node that reduces and multicasts; nullopt without one.
  [[nodiscard]] virtual std::optional<Route> to_switch(int gpu) const = 0;
  [[nodiscard]] virtual std::optional<Route> from_switch(int gpu) const = 0;

  // Everything written out; as large as the cluster.
  [[nodiscard]] virtual ClusterGraph graph() const = 0;

  // What find_rings() has found on it, by GPUs and channels.
  using KnownRings = Memo<std::pair<std::vector<int>, std::optional<int>>, std::vector<std::vector<int>>>;
  [[nodiscard]] KnownRings& known_rings() const { return known_rings_; }

 private:
  mutable KnownRings known_rings_;
};

}  // namespace ddpsim
