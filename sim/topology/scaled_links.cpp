#include "sim/topology/scaled_links.hpp"

#include "sim/topology/cluster_graph.hpp"

namespace ddpsim {
namespace {

class ScaledCluster final : public Cluster {
 public:
  ScaledCluster(std::shared_ptr<const Cluster> cluster, const LinkScale& scale)
      : cluster_(std::move(cluster)), scale_(scale) {
    if (const auto& other = cluster_->without_hashing(); &other != cluster_.get())
      without_hashing_ =
          std::make_unique<ScaledCluster>(std::shared_ptr<const Cluster>(cluster_, &other), scale);
  }

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
  [[nodiscard]] const Cluster& without_hashing() const override {
    return without_hashing_ ? *without_hashing_ : *this;
  }
  [[nodiscard]] int links() const override { return cluster_->links(); }
  [[nodiscard]] Link link(int id) const override { return scaled(cluster_->link(id)); }
  [[nodiscard]] bool broken(int id) const override { return cluster_->broken(id); }
  [[nodiscard]] std::string link_name(int id) const override { return cluster_->link_name(id); }
  [[nodiscard]] Cable cable(int id) const override { return cluster_->cable(id); }
  [[nodiscard]] std::vector<int> links_named(const std::string& name,
                                             const SourceSpan& place) const override {
    return cluster_->links_named(name, place);
  }
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override {
    return scaled(cluster_->find_route(from_gpu, to_gpu));
  }
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override {
    return *scaled(cluster_->route(from_gpu, to_gpu));
  }
  [[nodiscard]] std::optional<Route> to_switch(int gpu) const override {
    return scaled(cluster_->to_switch(gpu));
  }
  [[nodiscard]] std::optional<Route> from_switch(int gpu) const override {
    return scaled(cluster_->from_switch(gpu));
  }
  [[nodiscard]] ClusterGraph graph() const override {
    auto graph = cluster_->graph();
    for (auto& edge : graph.edges) edge.figures = scaled(edge.figures);
    return graph;
  }

 private:
  [[nodiscard]] Link scaled(const Link& link) const {
    return {link.bandwidth * scale_.bandwidth, link.latency * scale_.latency};
  }
  [[nodiscard]] std::optional<Route> scaled(std::optional<Route> route) const {
    if (!route) return route;
    route->latency = route->latency * scale_.latency;
    route->bandwidth = route->bandwidth * scale_.bandwidth;
    return route;
  }

  std::shared_ptr<const Cluster> cluster_;
  LinkScale scale_;
  std::unique_ptr<ScaledCluster> without_hashing_;
};

}  // namespace

std::shared_ptr<const Cluster> with_scaled_links(std::shared_ptr<const Cluster> cluster,
                                                 const LinkScale& scale) {
  if (scale == LinkScale()) return cluster;
  return std::make_shared<ScaledCluster>(std::move(cluster), scale);
}

}  // namespace ddpsim
