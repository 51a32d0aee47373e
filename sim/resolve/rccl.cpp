#include "sim/resolve/rccl.hpp"

#include <fmt/core.h>

#include "sim/topology/amd_gpus.hpp"

namespace ddpsim {

bool is_of_amd(const GpuDescription& gpu) {
  return amd_architecture(gpu.architecture) != nullptr;
}

Note rccl_note() {
  return {
      "rccl-unmodelled",
      "what RCCL chooses and takes is not modelled: collectives are plain schedules over the links at the "
      "rate of their data sheet, and RCCL reaches less"};
}

void say_rccl(const GivenJob& given, const GpuDescription* gpu, const Topology& topology,
              Scenario& scenario) {
  bool is_amd = topology.has_xgmi || (gpu && is_of_amd(*gpu));
  if (!is_amd) return;
  if (topology.nccl)
    throw InputError(
        given.at(given.has("cluster.gpu") ? "cluster.gpu" : "cluster.topology"),
        fmt::format("the GPU is {}, and this topology's collectives are NCCL's on {} GPUs", gpu->name,
                    nccl::name(topology.nccl->gpu)),
        "name a topology of AMD's GPUs ('ddpsim topology import' makes one), or the topology's own GPU");
  bool has_links = scenario.communication && !scenario.communication->is_alone();
  if (!has_links || scenario.measured_table || scenario.communication->library) return;
  std::erase_if(scenario.notes, [](const Note& note) { return note.code == "plain-rings"; });
  scenario.notes.push_back(rccl_note());
}

}  // namespace ddpsim
