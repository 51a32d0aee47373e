#pragma once
// A cluster of nodes under a fabric. Ids, names and figures are computed, never stored: what is stored grows
// with the kinds of nodes and the changed links, not with the cluster.
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/fabric.hpp"
#include "sim/topology/hashing.hpp"
#include "sim/topology/link_changes.hpp"
#include "sim/topology/node_ways.hpp"

namespace ddpsim {

// What a file of kind cluster says.
struct ClusterPlan {
  struct NodeKind {
    NodeModel model;
    NodeWays ways;
  };
  std::vector<NodeKind> kinds;     // the first is the usual one; all have the same number of GPUs
  std::map<int, int> other_nodes;  // node -> its kind
  Fabric fabric;
};

class NodeCluster final : public Cluster {
 public:
  // `hashing`: flows take single cables of a switch's uplinks; else all together are one link.
  NodeCluster(std::shared_ptr<const ClusterPlan> plan, int gpus, std::optional<Hashing> hashing = {});
  // Once, before any route is asked for.
  void change(std::span<const LinkOverride> file, std::span<const LinkOverride> scenario);

  [[nodiscard]] int gpus() const override { return gpus_; }
  [[nodiscard]] int nodes() const override { return nodes_; }
  [[nodiscard]] int node_of(int gpu) const override { return gpu / gpus_per_node_; }
  [[nodiscard]] int position_of(int gpu) const override { return gpu % gpus_per_node_; }
  [[nodiscard]] std::string gpu_name(int gpu) const override;
  [[nodiscard]] int like_node(int node) const override;
  [[nodiscard]] int twin_of(int node) const override;
  [[nodiscard]] LinkRange own_links(int node) const override;
  [[nodiscard]] std::optional<std::vector<int>> switches_above(int node) const override;
  [[nodiscard]] const Cluster& without_hashing() const override { return even_ ? *even_ : *this; }
  [[nodiscard]] int hashes() const override { return hashing_ ? hashing_->hashes : 1; }
  [[nodiscard]] std::vector<int> of_hash(std::span<const int> route, int hash) const override;
  [[nodiscard]] int links() const override { return fabric_base_ + (tree_ ? tree_->links() : 0); }
  [[nodiscard]] bool broken(int id) const override { return changes_.broken(id); }
  [[nodiscard]] Link link(int id) const override;
  [[nodiscard]] std::string link_name(int id) const override;
  [[nodiscard]] Cable cable(int id) const override;
  [[nodiscard]] std::vector<int> links_named(const std::string& name, const SourceSpan& place) const override;
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] std::optional<Route> through_host(int from_gpu, int to_gpu) const override;
  [[nodiscard]] nccl::PcieHost pcie_host(int gpu) const override { return model(node_of(gpu)).host; }
  [[nodiscard]] std::optional<Route> to_switch(int gpu) const override;
  [[nodiscard]] std::optional<Route> from_switch(int gpu) const override;
  [[nodiscard]] ClusterGraph graph() const override;

  // How much is kept beside the plan, counted in nodes with something of their own.
  [[nodiscard]] std::size_t nodes_kept() const { return own_ways_.size() + others_.size(); }

 private:
  // A vertex: of a node, or a switch of the fabric (node -1).
  struct Place {
    int node;
    int index;
    bool operator==(const Place&) const = default;
  };
  struct LocalLink {
    int node;
    int id;
  };
  struct Other {  // a node of another kind
    int node;
    int kind;
    int first_link;
  };
  struct Chosen;  // node_cluster_routes.cpp: the best choice of two NICs so far

  void change_without_hashing(std::span<const LinkOverride> file, std::span<const LinkOverride> scenario);
  void keep_own_ways(int node);
  [[nodiscard]] int kind_of(int node) const;
  [[nodiscard]] const NodeModel& model(int node) const { return plan_->kinds[kind_of(node)].model; }
  [[nodiscard]] const NodeWays& ways(int node, bool whole) const;
  [[nodiscard]] int links_of(const NodeModel& model) const;
  [[nodiscard]] int first_link(int node) const;
  [[nodiscard]] LocalLink local(int id) const;
  [[nodiscard]] Link described(int id) const;  // before changes
  [[nodiscard]] std::optional<int> nic_out(int node, int nic) const;
  [[nodiscard]] std::optional<int> nic_in(int node, int nic) const;

  [[nodiscard]] std::pair<Place, Place> ends(int id) const;
  // `cable`: of two switches'.
  [[nodiscard]] std::optional<int> link_between(const Place& from, const Place& to, int cable = 0) const;
  [[nodiscard]] std::string place_name(const Place& place) const;
  [[nodiscard]] std::optional<Place> place_named(const std::string& name) const;
  [[nodiscard]] std::vector<int> nic_links(const std::string& name) const;
  [[noreturn]] void throw_unknown(const std::string& name, const SourceSpan& place) const;

  // The links of the fabric from one node's NIC to another's, at most six.
  struct Crossing {
    int links[6];
    int count = 0;
  };
  // `whole`: as if no link were broken.
  // 0: no way from that NIC to that one.
  [[nodiscard]] int crossing_links(int from, int from_nic, int to, int to_nic) const;
  [[nodiscard]] Crossing crossing(int from, int from_nic, int to, int to_nic, bool whole, int hash = 0) const;
  // Up from one switch and down to the other.
  [[nodiscard]] int cable_of(std::uint64_t flow, int from_switch, int to_switch, bool whole) const;
  [[nodiscard]] std::optional<BytesPerSecond> usable(const Crossing& crossing, bool whole) const;
  [[nodiscard]] std::optional<Route> search(int from_gpu, int to_gpu, bool whole) const;
  [[nodiscard]] Chosen choose_nics(int from_gpu, int to_gpu, bool whole) const;
  [[nodiscard]] std::optional<Route> search_across(int from_gpu, int to_gpu, bool whole) const;
  [[nodiscard]] std::optional<Route> one_link(int gpu, int from_vertex, int to_vertex) const;
  void append_moved(Route& route, const Route& way, int first_link) const;

  std::shared_ptr<const ClusterPlan> plan_;
  int gpus_, gpus_per_node_, nodes_;
  std::vector<Other> others_;  // ascending
  int usual_links_;            // of a node of the usual kind
  int fabric_base_;            // the first link id of the fabric
  std::optional<SwitchTree> tree_;
  std::optional<Hashing> hashing_;
  std::unique_ptr<NodeCluster> even_;  // with hashing: the cluster without
  LinkChanges changes_;
  bool has_changed_fabric_ = false;
  std::map<int, NodeWays> own_ways_;  // of nodes with changed links or idle GPUs
  std::vector<int> first_like_;       // of each kind: its first node without ways of its own, or -1
};

}  // namespace ddpsim
