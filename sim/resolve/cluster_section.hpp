#pragma once
// The section `cluster` of a job as machines: which GPUs its ranks run on.
#include <memory>
#include <vector>

#include "sim/job/rows/table.hpp"
#include "sim/topology/scaled_links.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// How many GPUs of each node the job takes: what the section says, else usual_domain_gpus() of racks, else
// all. Throws InputError for more than there are, or a topology without nodes of a size.
int domain_gpus(const GivenJob& given, const Topology& topology);

// The GPUs of the section's nodes, or, where it does not say how many there are, of the ranks. Throws
// InputError for nodes that a topology cannot have, or too few.
int gpus_of(const Topology& topology, const GivenJob& given);

// `gpus`: gpus_of(), or those of the ranks and, on nodes of their own, of parameter servers.
std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const GivenJob& given,
                                             const LinkScale& links, int gpus);

// Where its ranks go.
Placement job_placement(const GivenJob& given, const Topology& topology);

// The GPU of each rank. Throws InputError where a placement has no nodes to choose from, or broken ones leave
// too few.
std::vector<int> place_job(const GivenJob& given, const Topology& topology, const Cluster& cluster);

}  // namespace ddpsim
