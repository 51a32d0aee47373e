#include "sim/topology/topology.hpp"

#include <fmt/core.h>

namespace ddpsim {

void Topology::check_hashing(int /*gpus*/) const {
  throw_no_uplinks();
}

const NcclPlatform& require_nccl(const Topology& topology, const std::string& name) {
  if (topology.nccl) return *topology.nccl;
  if (topology.has_xgmi)
    throw InputError(
        fmt::format("the GPUs of {} are AMD's: RCCL is not modelled, and NCCL is not theirs", name),
        "'ddpsim topology costs' has plain schedules over the links");
  bool has_nodes = topology.usual_size().has_value();
  throw InputError(fmt::format("{} says nothing of NCCL's platform", name),
                   has_nodes ? "add a section 'nccl' to it, such as nccl: {gpu: hopper, cpu: intel}"
                             : "a plain ring has no nodes for NCCL to count: use kind: cluster or graph");
}

}  // namespace ddpsim
