#pragma once
// Collectives over a cluster whose flows are cut into parts that take cables of their own.
#include "sim/collective/schedule.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Each channel that crosses hashed uplinks becomes as many as a flow has parts, each with as much less of the
// buffer; they advance by themselves, as NCCL's channels do.
void cut_flows(const Cluster& cluster, CollectiveSchedule& schedule);

}  // namespace ddpsim
