#include "sim/topology/scaled_links.hpp"

#include "sim/topology/cluster_view.hpp"

namespace ddpsim {
namespace {

class ScaledCluster final : public ClusterView {
 public:
  ScaledCluster(const std::shared_ptr<const Cluster>& cluster, const LinkScale& scale)
      : ClusterView(cluster), scale_(scale) {
    if (const auto& other = cluster->without_hashing(); &other != cluster.get())
      without_hashing_ =
          std::make_unique<ScaledCluster>(std::shared_ptr<const Cluster>(cluster, &other), scale);
  }

  [[nodiscard]] const Cluster& without_hashing() const override {
    return without_hashing_ ? *without_hashing_ : *this;
  }
  [[nodiscard]] Link link(int id) const override { return scaled(cluster().link(id)); }
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override {
    return scaled(cluster().find_route(from_gpu, to_gpu));
  }
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override {
    return *scaled(cluster().route(from_gpu, to_gpu));
  }
  [[nodiscard]] std::optional<Route> through_host(int from_gpu, int to_gpu) const override {
    return scaled(cluster().through_host(from_gpu, to_gpu));
  }
  [[nodiscard]] std::optional<Route> to_switch(int gpu) const override {
    return scaled(cluster().to_switch(gpu));
  }
  [[nodiscard]] std::optional<Route> from_switch(int gpu) const override {
    return scaled(cluster().from_switch(gpu));
  }
  [[nodiscard]] ClusterGraph graph() const override {
    auto graph = cluster().graph();
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

  LinkScale scale_;
  std::unique_ptr<ScaledCluster> without_hashing_;
};

}  // namespace

std::shared_ptr<const Cluster> with_scaled_links(std::shared_ptr<const Cluster> cluster,
                                                 const LinkScale& scale) {
  if (scale == LinkScale()) return cluster;
  return std::make_shared<ScaledCluster>(cluster, scale);
}

}  // namespace ddpsim
