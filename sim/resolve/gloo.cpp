// The section `collective.gloo`, and what Gloo does on machines with GPUs.
#include <fmt/core.h>

#include "sim/cost/gloo_model.hpp"
#include "sim/resolve/collective.hpp"

namespace ddpsim {
namespace {

gloo::Host host_of(const job::Gloo& section) {
  auto host = gloo::usual_host();
  // Whoever knows what a process sends knows it of buffers of any size.
  if (section.process) host.process_bandwidth = host.cached_bandwidth = *section.process;
  if (section.cached) host.cached_bandwidth = *section.cached;
  if (section.cache) host.cache = *section.cache;
  if (section.machine) host.machine_bandwidth = section.machine;
  if (section.reduction) host.reduction_bandwidth = *section.reduction;
  if (section.step_latency) host.step_latency = *section.step_latency;
  return host;
}

}  // namespace

bool uses_gloo(const GivenJob& given, const Topology& topology, const Collective& collective) {
  const auto& section = given.job.collective.gloo;
  const auto& place = given.at("collective.gloo");
  if (section && !collective.is_auto)
    throw InputError(place, "only algorithm: auto is Gloo's model",
                     "remove 'gloo', or write algorithm: auto");
  if (section && topology.bare_network)
    throw InputError(place, "the links of this topology are the network that Gloo's processes use",
                     "remove 'gloo', or use a topology of machines with GPUs");
  if (collective.backend != Backend::gloo || !collective.is_auto || topology.bare_network) return false;
  for (const char* key : {"collective.channels", "collective.ring_order"})
    if (given.has(key))
      throw InputError(given.at(key), "Gloo has one ring, in the order of the ranks",
                       "remove 'channels' and 'ring_order', or write algorithm: ring for a plain ring over "
                       "the links");
  return true;
}

void add_gloo_model(const GivenJob& given, const Topology& topology, Communication& communication) {
  auto section = given.job.collective.gloo.value_or(job::Gloo());
  if (communication.groups.size() > 1 || !communication.background.empty())
    throw InputError(
        "what Gloo takes is known of one group alone on its machines, and here are others",
        "remove cluster.groups and cluster.background, use a strategy of one communicator, or write "
        "algorithm: ring for a plain ring over the links");
  const auto& cluster = *communication.cluster;
  const auto& gpus = communication.groups.front();
  auto group = gloo_group(cluster, gpus);
  auto copy = section.copy ? section.copy : pcie_copy_bandwidth(cluster, gpus);
  group.copy = copy.value_or(usual_copy_bandwidth(topology));
  communication.library = std::make_shared<const GlooModel>(gloo::CostModel(host_of(section), group));
}

Note usual_gloo_note() {
  return {"gloo-estimated",
          fmt::format(
              "what Gloo's all-reduces take is estimated: copies to the host and back, and a ring over TCP "
              "fitted to 2 processes of one server ({}; collective.gloo says what your machines do)",
              gloo::usual_host_errors())};
}

void add_gloo_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
                    const Communication& communication, std::vector<Note>& notes) {
  const auto& section = given.job.collective.gloo;
  if (communication.library && !(section && section->is_whole())) notes.push_back(usual_gloo_note());
  if (topology.bare_network)
    notes.push_back(
        {std::string(kGlooWithoutHosts),
         "the topology describes links and no hosts: copies between GPUs and their hosts, and what "
         "Gloo's processes do there, are left out, so its times say nothing against NCCL's (name a "
         "topology of machines)"});
  else if (!communication.library)
    notes.push_back(
        {"gloo-plain-schedule",
         fmt::format("Gloo copies to the host and communicates there; algorithm {} lets it use the "
                     "links between GPUs instead, much faster than it is",
                     algorithm_name(collective.options.algorithm))});
}

}  // namespace ddpsim
