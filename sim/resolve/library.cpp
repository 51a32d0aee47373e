// What MPI does, and which library's model says what collectives take.
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/cost/mpi_model.hpp"
#include "sim/gloo/host.hpp"
#include "sim/resolve/collective.hpp"

namespace ddpsim {
namespace {

bool uses_mpi(const GivenJob& given, const Collective& collective) {
  if (collective.backend != Backend::mpi || !collective.is_auto) return false;
  for (const char* key : {"collective.channels", "collective.ring_order", "collective.rings"})
    if (given.has(key))
      throw InputError(given.at(key), "MPI picks its own algorithm, with ranks in their order",
                       "remove 'channels', 'ring_order' and 'rings', or write algorithm: ring for a plain "
                       "ring over the links");
  return true;
}

// Algorithms join ranks that no ring does.
void check_ways(const Cluster& cluster, const std::vector<int>& gpus) {
  auto root = gpus.front();
  for (int gpu : std::span(gpus).subspan(1))
    for (auto [from, to] : {std::pair(root, gpu), std::pair(gpu, root)})
      if (!cluster.find_route(from, to))
        throw InputError(
            fmt::format("MPI sends from {} to {}, and no links lead there", cluster.gpu_name(from),
                        cluster.gpu_name(to)),
            "use a topology whose links join any two, or write algorithm: ring for a plain ring");
}

void add_mpi_model(const Topology& topology, Communication& communication) {
  if (communication.groups.size() > 1 || !communication.background.empty())
    throw InputError(
        "what MPI takes is known of one group alone on its links, and here are others",
        "remove cluster.groups and cluster.background, use a strategy of one communicator, or write "
        "algorithm: ring for a plain ring over the links");
  const auto& gpus = communication.groups.front();
  check_ways(*communication.cluster, gpus);
  communication.library = std::make_shared<const MpiModel>(communication.cluster, gpus,
                                                           mpi_host(topology, *communication.cluster, gpus));
}

}  // namespace

Note mpi_note(const Topology& topology) {
  auto text = fmt::format(
      "nothing of MPI was measured: the algorithms are those that {}'s module tuned picks by its fixed rules "
      "(float32; not han, which takes over where nodes hold several ranks), their times those of messages "
      "over "
      "the links",
      mpi::kRelease);
  if (!topology.bare_network)
    text += fmt::format(
        "; sums are formed on hosts, after copies there and before copies back, at {:g} GB/s a process; all "
        "else goes from GPU to GPU",
        gloo::usual_host().reduction_bandwidth.value() / 1e9);
  return {"mpi-declared", std::move(text)};
}

bool uses_library(const GivenJob& given, const Topology& topology, const Collective& collective) {
  return uses_gloo(given, topology, collective) || uses_mpi(given, collective);
}

void add_library_model(const GivenJob& given, const Topology& topology, const Collective& collective,
                       Communication& communication) {
  if (given.job.cluster.hashing)
    throw InputError(
        given.at("cluster.hashing"),
        fmt::format("what {} takes is not known of flows on single cables", backend_name(collective.backend)),
        "remove 'hashing', or use backend: nccl");
  if (collective.backend == Backend::mpi)
    add_mpi_model(topology, communication);
  else
    add_gloo_model(given, topology, communication);
}

void add_library_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
                       const Communication& communication, std::vector<Note>& notes) {
  if (collective.backend == Backend::gloo)
    add_gloo_notes(given, topology, collective, communication, notes);
  else if (communication.library)
    notes.push_back(mpi_note(topology));
  else if (collective.backend == Backend::mpi)
    notes.push_back(
        {"mpi-plain-schedule",
         fmt::format("MPI is told to run {} whatever its rules say, and reduces without copies to "
                     "the host and back",
                     algorithm_name(collective.options.algorithm))});
}

}  // namespace ddpsim
