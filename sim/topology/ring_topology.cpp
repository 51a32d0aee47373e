// Kind ring: each GPU is a node of its own with one link, to the next.
#include <fmt/core.h>

#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/link_changes.hpp"
#include "sim/topology/names.hpp"
#include "sim/topology/shortest_ways.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim {
namespace {

// Link r leads from GPU r to GPU r + 1, the last one's to GPU 0; one alone has none.
class RingCluster final : public Cluster {
 public:
  RingCluster(Link link, int gpus) : link_(link), gpus_(gpus) {}
  void change(const std::vector<RingOverride>& file, std::span<const LinkOverride> scenario) {
    for (const auto& override : file) changes_.add(override.from, override.change);
    changes_.add(*this, scenario);
    while (first_intact_ < gpus_ && has_changes(first_intact_)) ++first_intact_;
  }

  [[nodiscard]] int gpus() const override { return gpus_; }
  [[nodiscard]] int nodes() const override { return gpus_; }
  [[nodiscard]] int node_of(int gpu) const override { return gpu; }
  [[nodiscard]] int position_of(int) const override { return 0; }
  [[nodiscard]] std::string gpu_name(int gpu) const override { return fmt::format("gpu{}", gpu); }
  [[nodiscard]] int like_node(int node) const override { return has_changes(node) ? node : first_intact_; }
  [[nodiscard]] int links() const override { return gpus_ > 1 ? gpus_ : 0; }
  [[nodiscard]] bool broken(int id) const override { return changes_.broken(id); }
  [[nodiscard]] Link link(int id) const override { return changes_.applied(id, link_); }
  [[nodiscard]] std::string link_name(int id) const override {
    return gpu_name(id) + ">" + gpu_name((id + 1) % gpus_);
  }
  [[nodiscard]] Cable cable(int) const override { return {Medium::network, 1}; }
  [[nodiscard]] std::vector<int> links_named(const std::string& name, const SourceSpan& place) const override;
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override {
    if (from_gpu != to_gpu && changes_.broken(from_gpu)) return std::nullopt;
    return whole_route(from_gpu, to_gpu);
  }
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] std::optional<Route> to_switch(int) const override { return std::nullopt; }
  [[nodiscard]] std::optional<Route> from_switch(int) const override { return std::nullopt; }
  [[nodiscard]] ClusterGraph graph() const override;

 private:
  [[nodiscard]] bool has_changes(int gpu) const {
    return changes_.changed(gpu) || changes_.changed((gpu + gpus_ - 1) % gpus_);
  }
  [[nodiscard]] std::optional<Route> whole_route(int from_gpu, int to_gpu) const {
    if (from_gpu == to_gpu) return to_itself();
    if ((from_gpu + 1) % gpus_ != to_gpu) return std::nullopt;
    auto figures = link(from_gpu);
    return Route{{from_gpu}, figures.latency, figures.bandwidth};
  }

  Link link_;
  int gpus_;
  int first_intact_ = 0;
  LinkChanges changes_;
};

std::vector<int> RingCluster::links_named(const std::string& name, const SourceSpan& place) const {
  for (const auto& [from, to, both_ways] : possible_ends(name)) {
    auto a = number_after("gpu", from), b = number_after("gpu", to);
    if (!a || !b || *a >= gpus_ || *b >= gpus_ || *a == *b) continue;
    std::vector<int> links;
    if ((*a + 1) % gpus_ == *b) links.push_back(*a);
    if ((*b + 1) % gpus_ == *a && both_ways) links.push_back(*b);
    if (!links.empty()) return links;
  }
  throw_unknown_link(
      name, place, {},
      gpus_ == 1 ? "one GPU alone has no links"
                 : fmt::format("the links of a ring of {} are gpu0>gpu1 to {}", gpus_, link_name(gpus_ - 1)));
}

Route RingCluster::route(int from_gpu, int to_gpu) const {
  if (auto found = find_route(from_gpu, to_gpu)) return *std::move(found);
  if (auto whole = whole_route(from_gpu, to_gpu)) changes_.throw_no_way(*this, *whole, from_gpu, to_gpu);
  throw_no_way(*this, from_gpu, to_gpu);
}

ClusterGraph RingCluster::graph() const {
  ClusterGraph graph;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    graph.vertices.push_back({gpu_name(gpu), ClusterGraph::Kind::gpu, gpu, gpu});
    if (gpus_ > 1) graph.edges.push_back({gpu, (gpu + 1) % gpus_, gpu, link(gpu), changes_.broken(gpu)});
  }
  return graph;
}

class RingTopology final : public Topology {
 public:
  RingTopology(Link link, std::vector<RingOverride> overrides)
      : link_(link), overrides_(std::move(overrides)) {
    bare_network = true;
  }

  [[nodiscard]] std::shared_ptr<const Cluster> build(int gpus, std::span<const LinkOverride> overrides,
                                                     std::optional<Hashing> /*hashing*/) const override {
    for (const auto& override : overrides_)
      if (override.from >= gpus)
        throw InputError(override.change.span,
                         fmt::format("a ring of {} ranks has no rank {}", gpus, override.from),
                         fmt::format("its last rank is {}", gpus - 1));
    auto cluster = std::make_shared<RingCluster>(link_, gpus);
    cluster->change(overrides_, overrides);
    return cluster;
  }
  [[nodiscard]] std::optional<int> usual_size() const override { return std::nullopt; }

 private:
  Link link_;
  std::vector<RingOverride> overrides_;
};

}  // namespace

std::shared_ptr<Topology> make_ring_topology(Link link, std::vector<RingOverride> overrides) {
  return std::make_shared<RingTopology>(link, std::move(overrides));
}

}  // namespace ddpsim
