#include "sim/cost/usual_library.hpp"

#include "sim/base/source.hpp"
#include "sim/cost/gloo_model.hpp"
#include "sim/cost/mpi_model.hpp"

namespace ddpsim {
namespace {

std::shared_ptr<const LibraryModel> usual_gloo(const Topology& topology, const Cluster& cluster,
                                               const std::vector<int>& gpus) {
  if (topology.bare_network)
    throw InputError(
        "the links of this topology are the network that Gloo's processes use: its collectives are "
        "plain schedules over them",
        "leave the backend out, or use a topology of machines with GPUs");
  auto group = gloo_group(cluster, gpus);
  group.copy = pcie_copy_bandwidth(cluster, gpus).value_or(usual_copy_bandwidth(topology));
  return std::make_shared<const GlooModel>(gloo::CostModel(gloo::usual_host(), group));
}

}  // namespace

std::shared_ptr<const LibraryModel> usual_library(Backend backend, const Topology& topology,
                                                  const std::shared_ptr<const Cluster>& cluster,
                                                  const std::vector<int>& gpus) {
  switch (backend) {
    case Backend::mpi:
      return std::make_shared<const MpiModel>(cluster, gpus, mpi_host(topology, *cluster, gpus));
    case Backend::gloo:
      return usual_gloo(topology, *cluster, gpus);
    case Backend::nccl:
      break;
  }
  if (!topology.nccl)
    throw InputError("the topology does not say what NCCL has to know",
                     "leave the backend out for plain schedules, or add a section 'nccl' to the topology");
  return nullptr;
}

}  // namespace ddpsim
