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

// How many of the GPUs of each node, `of_node`, the job takes: all, unless the section says fewer. Of a rack,
// an NVLink domain of more GPUs than a host has, that a job of several does not fill: a power of two, as jobs
// on racks of 72 take 64 of each. Throws InputError for more than there are.
int domain_gpus(const ClusterSection& section, int of_node);

// The GPUs of the section's nodes, or, where it does not say how many there are, of the ranks. Throws
// InputError for nodes that a topology cannot have, or too few.
int gpus_of(const Topology& topology, const ClusterSection& section);

// `gpus`: gpus_of(), or those of the ranks and, on nodes of their own, of parameter servers.
std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const ClusterSection& section,
                                             const LinkScale& links, int gpus);

// Where its ranks go.
Placement job_placement(const ClusterSection& section, const Cluster& cluster);

// The GPU of each rank. Throws InputError where a placement has no nodes to choose from, or broken ones leave
// too few.
std::vector<int> place_job(const ClusterSection& section, const Cluster& cluster);

}  // namespace ddpsim
