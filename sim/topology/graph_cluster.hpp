#pragma once
// A cluster given vertex by vertex and link by link.
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/link_changes.hpp"
#include "sim/topology/shortest_ways.hpp"

namespace ddpsim {

struct GraphPlan {
  struct Vertex {
    std::string name;
    ClusterGraph::Kind kind;
    int node;  // as the user counts; of GPUs and NICs
    bool multicast = false;
  };
  struct Wire {
    int from;
    int to;
    Link link;
    Cable cable;
  };
  std::vector<Vertex> vertices;  // GPUs first
  std::vector<Wire> wires;
  std::unordered_map<std::string, int> number;  // of each vertex
  int gpus = 0;
  nccl::PcieHost host = {};
};

class GraphCluster final : public Cluster {
 public:
  GraphCluster(std::shared_ptr<const GraphPlan> plan, int gpus);
  // Once, before any route is asked for.
  void change(std::span<const LinkOverride> file, std::span<const LinkOverride> scenario);

  [[nodiscard]] int gpus() const override { return gpus_; }
  [[nodiscard]] int nodes() const override { return nodes_; }
  [[nodiscard]] int node_of(int gpu) const override { return node_of_[gpu]; }
  [[nodiscard]] int position_of(int gpu) const override { return position_of_[gpu]; }
  [[nodiscard]] std::string gpu_name(int gpu) const override { return plan_->vertices[gpu].name; }
  [[nodiscard]] int like_node(int node) const override { return node; }
  [[nodiscard]] int links() const override { return static_cast<int>(plan_->wires.size()); }
  [[nodiscard]] bool broken(int id) const override { return changes_.broken(id); }
  [[nodiscard]] Link link(int id) const override { return changes_.applied(id, plan_->wires[id].link); }
  [[nodiscard]] std::string link_name(int id) const override;
  [[nodiscard]] Cable cable(int id) const override { return plan_->wires[id].cable; }
  [[nodiscard]] std::vector<int> links_named(const std::string& name, const SourceSpan& place) const override;
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] nccl::PcieHost pcie_host(int) const override { return plan_->host; }
  [[nodiscard]] std::optional<Route> to_switch(int gpu) const override { return multicast(gpu, true); }
  [[nodiscard]] std::optional<Route> from_switch(int gpu) const override { return multicast(gpu, false); }
  [[nodiscard]] ClusterGraph graph() const override;

 private:
  [[nodiscard]] WayGraph way_graph(bool whole) const;
  [[nodiscard]] std::optional<int> link_between(int from, int to) const;
  [[nodiscard]] std::optional<Route> multicast(int gpu, bool towards) const;

  std::shared_ptr<const GraphPlan> plan_;
  int gpus_;
  int nodes_ = 0;
  std::vector<int> node_of_, position_of_;
  LinkChanges changes_;
  // The ways from each GPU, found when first asked for.
  struct Ways {
    std::once_flag once;
    std::vector<std::optional<Route>> to;
  };
  std::unique_ptr<Ways[]> ways_;
};

}  // namespace ddpsim
