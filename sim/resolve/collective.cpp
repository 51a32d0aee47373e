// The section `collective` of a scenario: how all-reduces are carried out.
#include "sim/resolve/collective.hpp"

#include <fmt/core.h>

namespace ddpsim {
namespace {

// So many times as long, whoever says what collectives take.
AllReduceScale of_times(const LinkScale& scale) {
  return {scale.latency, 1 / scale.bandwidth};
}

}  // namespace

LinkScale link_scale(const Files& files, const GivenJob& given, const Topology& topology,
                     const Collective& collective) {
  bool links_say = collective.servers ||
                   !(uses_nccl(given, topology, collective) || uses_library(given, topology, collective));
  if (!links_say) return files.links();
  const auto& scale = given.job.collective.scale;
  return {files.links().bandwidth * scale.bandwidth, files.links().latency * scale.latency};
}

void scale_models(const GivenJob& given, Communication& communication) {
  const auto& scale = given.job.collective.scale;
  if (scale == LinkScale()) return;
  for (auto& model : communication.nccl)
    model = std::make_shared<const NcclModel>(model->scaled(of_times(scale)));
  if (communication.library) communication.library = communication.library->scaled(of_times(scale));
}

void check_scale(const GivenJob& given, const Communication& communication) {
  if (communication.nccl.empty() || given.job.collective.scale.bandwidth == 1) return;
  throw InputError(
      given.at("collective.scale"),
      "under NCCL's model bandwidth is scaled of groups that have their links to themselves, and "
      "here others use them",
      "scale the links: cluster.overrides, or the topology's own; or use algorithm: ring");
}

Collective find_collective(Files& files, const GivenJob& given) {
  const auto& section = given.job.collective;
  Collective collective;
  collective.backend = section.backend;
  bool is_nccl = section.backend == Backend::nccl;
  // Threads of PyTorch's Gloo process group, two unless it is told otherwise (ProcessGroupGloo.hpp); NCCL's
  // collectives are kernels of one stream.
  collective.workers = section.workers.value_or(traits_of(section.backend).has_several_in_flight ? 2 : 1);
  collective.place = given.at("collective.algorithm");
  collective.is_auto = std::holds_alternative<job::Automatic>(section.algorithm);
  collective.automatic = is_nccl && collective.is_auto;
  if (section.channels)
    collective.options.channels = *section.channels;
  else if (!collective.automatic)
    collective.options.channels = 1;
  // Ranks of Gloo and MPI are joined in their order.
  collective.options.search_rings =
      section.ring_order ? *section.ring_order == job::RingOrder::search : is_nccl;
  if (const auto* algorithm = std::get_if<Algorithm>(&section.algorithm))
    collective.options.algorithm = *algorithm;
  if (!section.rings.empty()) {
    collective.options.rings = section.rings;
    collective.place = given.at("collective.rings");
  }
  if (!std::holds_alternative<job::Measured>(section.algorithm)) return collective;
  auto path = files.path_of(given.located(*section.measured, "collective.measured"));
  collective.table = files.measured_table(path);
  return collective;
}

}  // namespace ddpsim
