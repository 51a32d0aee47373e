#pragma once
// The section `cluster`, and the cluster it asks for.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/topology/placement.hpp"
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
                      *background = nullptr, *nodes = nullptr, *hashing = nullptr, *domain_gpus = nullptr;
  std::optional<std::uint64_t> hashing_seed;  // of `hashing`, unless that is none
};

// How many GPUs of each node the job takes: what the section says, else usual_domain_gpus() of racks, else
// all. Throws InputError for more than there are, or a topology without nodes of a size.
int domain_gpus(const ClusterSection& section, const Topology& topology);

// The GPUs of the section's nodes, or, where it does not say how many there are, of the ranks. Throws
// InputError for nodes that a topology cannot have, or too few.
int gpus_of(const Topology& topology, const ClusterSection& section);

// `gpus`: gpus_of(), or those of the ranks and, on nodes of their own, of parameter servers.
std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const ClusterSection& section,
                                             const LinkScale& links, int gpus);

// Where its ranks go.
Placement job_placement(const ClusterSection& section, const Topology& topology);

// The GPU of each rank. Throws InputError where a placement has no nodes to choose from, or broken ones leave
// too few.
std::vector<int> place_job(const ClusterSection& section, const Topology& topology, const Cluster& cluster);

}  // namespace ddpsim
