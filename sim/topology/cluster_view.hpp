#pragma once
// A cluster of which something is different: what a view does not override is the cluster's own.
#include <memory>
#include <utility>

#include "sim/topology/cluster_graph.hpp"

namespace ddpsim {

class ClusterView : public Cluster {
 public:
  explicit ClusterView(std::shared_ptr<const Cluster> cluster) : cluster_(std::move(cluster)) {}

  [[nodiscard]] int gpus() const override { return cluster_->gpus(); }
  [[nodiscard]] int nodes() const override { return cluster_->nodes(); }
  [[nodiscard]] int node_of(int gpu) const override { return cluster_->node_of(gpu); }
  [[nodiscard]] int position_of(int gpu) const override { return cluster_->position_of(gpu); }
  [[nodiscard]] std::string gpu_name(int gpu) const override { return cluster_->gpu_name(gpu); }
  [[nodiscard]] int like_node(int node) const override { return cluster_->like_node(node); }
  [[nodiscard]] int twin_of(int node) const override { return cluster_->twin_of(node); }
  [[nodiscard]] std::optional<std::vector<int>> switches_above(int node) const override {
    return cluster_->switches_above(node);
  }
  [[nodiscard]] LinkRange own_links(int node) const override { return cluster_->own_links(node); }
  [[nodiscard]] const Cluster& without_hashing() const override { return cluster_->without_hashing(); }
  [[nodiscard]] int hashes() const override { return cluster_->hashes(); }
  [[nodiscard]] std::vector<int> of_hash(std::span<const int> route, int hash) const override {
    return cluster_->of_hash(route, hash);
  }
  [[nodiscard]] int links() const override { return cluster_->links(); }
  [[nodiscard]] Link link(int id) const override { return cluster_->link(id); }
  [[nodiscard]] bool broken(int id) const override { return cluster_->broken(id); }
  [[nodiscard]] std::string link_name(int id) const override { return cluster_->link_name(id); }
  [[nodiscard]] Cable cable(int id) const override { return cluster_->cable(id); }
  [[nodiscard]] std::vector<int> links_named(const std::string& name,
                                             const SourceSpan& place) const override {
    return cluster_->links_named(name, place);
  }
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override {
    return cluster_->find_route(from_gpu, to_gpu);
  }
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override {
    return cluster_->route(from_gpu, to_gpu);
  }
  [[nodiscard]] std::optional<Route> through_host(int from_gpu, int to_gpu) const override {
    return cluster_->through_host(from_gpu, to_gpu);
  }
  [[nodiscard]] nccl::PcieHost pcie_host(int gpu) const override { return cluster_->pcie_host(gpu); }
  [[nodiscard]] std::optional<Route> to_switch(int gpu) const override { return cluster_->to_switch(gpu); }
  [[nodiscard]] std::optional<Route> from_switch(int gpu) const override {
    return cluster_->from_switch(gpu);
  }
  [[nodiscard]] ClusterGraph graph() const override { return cluster_->graph(); }

 protected:
  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }

 private:
  std::shared_ptr<const Cluster> cluster_;
};

}  // namespace ddpsim
