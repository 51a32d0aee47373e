#pragma once
// The section `cluster`, and the cluster it asks for.
#include <memory>
#include <optional>

#include "sim/config/value.hpp"
#include "sim/topology/scaled_links.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

struct ClusterSection {
  explicit ClusterSection(const config::Value& root);

  SourceSpan place;
  int world_size = 0;
  std::optional<double> price;
  const config::Value* world_size_value = nullptr;
  const config::Value *topology = nullptr, *placement = nullptr, *groups = nullptr, *overrides = nullptr,
                      *background = nullptr;
};

// `gpus`: those of the ranks and, on nodes of their own, of parameter servers.
std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const ClusterSection& section,
                                             const LinkScale& links, int gpus);

}  // namespace ddpsim
