// Where parameter servers sit, and what goes between them and the workers.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "sim/cost/direct_sends.hpp"
#include "sim/cost/gloo_model.hpp"
#include "sim/resolve/cluster.hpp"
#include "sim/resolve/cluster_section.hpp"

namespace ddpsim {
namespace {

// Dedicated ones are the first GPUs' places on nodes of their own, after the workers'; the others sit beside
// workers, evenly spread over them.
std::vector<int> server_gpus(const Topology& topology, const ServerOptions& options,
                             const std::vector<int>& gpu_of_rank, int& gpus) {
  auto workers = static_cast<int>(gpu_of_rank.size());
  std::vector<int> servers;
  int of_node = options.dedicated ? topology.usual_size().value_or(1) : 1;
  int first = (workers + of_node - 1) / of_node * of_node;
  for (int s = 0; s < options.servers; ++s)
    servers.push_back(
        options.dedicated
            ? first + s * of_node
            : gpu_of_rank[static_cast<std::size_t>(std::int64_t{s} * workers / options.servers)]);
  gpus = options.dedicated ? first + options.servers * of_node : workers;
  return servers;
}

// Of ranks that are as slow, one that shares its place with no server, if there is one.
int usual_gpu(const RankClass& ranks, const Slowdowns& slowdowns, const std::vector<int>& gpu_of_rank,
              const std::vector<int>& servers) {
  auto slowdown_of = [&](int rank) {
    auto known = slowdowns.find(rank);
    return known == slowdowns.end() ? 1.0 : known->second;
  };
  for (int rank = static_cast<int>(gpu_of_rank.size()); rank-- > 0;) {
    int gpu = gpu_of_rank[static_cast<std::size_t>(rank)];
    if (slowdown_of(rank) == ranks.slowdown && std::ranges::find(servers, gpu) == servers.end()) return gpu;
  }
  return gpu_of_rank[static_cast<std::size_t>(ranks.rank)];
}

void check_refused(const GivenJob& given, const std::vector<int>& gpu_of_rank, const SourceSpan& place) {
  const auto& options = given.job.sections.of<ServerOptions>();
  if (given.has("cluster.background") && !options.synchronous)
    throw InputError(given.at("cluster.background"),
                     "asynchronous workers are in a steady state, alone on the links",
                     "remove cluster.background, or write parameter_server: {synchronous: true}");
  if (given.has("cluster.groups"))
    throw InputError(given.at("cluster.groups"), "parameter servers are those of all workers",
                     "remove cluster.groups");
  if (options.dedicated && given.has("cluster.nodes"))
    throw InputError(given.at("cluster.nodes"),
                     "dedicated servers are on the nodes that follow those of the workers",
                     "remove cluster.nodes");
  auto workers = gpu_of_rank.size();
  if (!options.dedicated && static_cast<std::size_t>(options.servers) > workers)
    throw InputError(place,
                     fmt::format("{} servers have no place beside {} workers", options.servers, workers),
                     "use fewer servers, or placement: dedicated");
  if (static_cast<double>(workers) * options.servers > DirectSends::kMostRoutes)
    throw InputError(place,
                     fmt::format("{} workers and {} servers have too many routes", workers, options.servers),
                     "use fewer of them");
}

// Between a host and its GPUs, all of which copy; none: the cluster does not say it.
struct CopiesKey {
  using Value = std::optional<BytesPerSecond>;
  ClusterKey of;
  auto operator<=>(const CopiesKey&) const = default;
};

// What joins GPUs to their host is looked up only then.
bool copies_from_host(const GivenJob& given) {
  const auto& strategy = *given.job.strategy;
  return strategy.traits.is_one_process || strategy.offloads(given.job.sections);
}

}  // namespace

void use_servers(const GivenJob& given, Collective& collective) {
  collective.servers = given.job.sections.of<ServerOptions>();
  const auto* section = given.root.find("collective");
  if (section && !section->value.entries.empty())
    throw InputError(given.at("collective"), "workers and parameter servers send to one another directly",
                     "remove the section 'collective'");
}

void add_servers(const Files& files, const GivenJob& given, const Topology& topology,
                 const Collective& collective, const Slowdowns& slowdowns, std::vector<int> gpu_of_rank,
                 Communication& communication, ClusterTraffic& traffic) {
  const auto& options = *collective.servers;
  const auto& place =
      given.has("parameter_server") ? given.places.key_at("parameter_server") : given.at("strategy");
  check_refused(given, gpu_of_rank, place);
  int gpus = 0;
  auto servers = server_gpus(topology, options, gpu_of_rank, gpus);
  if (options.dedicated) try {
      communication.cluster =
          build_cluster(topology, given, link_scale(files, given, topology, collective), gpus);
    } catch (const InputError& error) {
      throw error.at(place);
    }
  std::vector<std::vector<int>> groups{gpu_of_rank};
  if (!options.synchronous) {
    // Workers that are as slow do the same at the same times, whatever the others do.
    groups.clear();
    std::vector<RankGroup> alone;
    for (const auto& one : traffic.groups.front().rank_classes) {
      groups.push_back({usual_gpu(one, slowdowns, gpu_of_rank, servers)});
      alone.push_back({one.ranks, {one}, {}, static_cast<int>(alone.size())});
    }
    traffic.groups = std::move(alone);
    communication.server_round =
        DirectSends(*communication.cluster, gpu_of_rank, servers, DirectSends::Ways::both).bounds().all;
  }
  communication.axes.clear();
  communication.labels.clear();
  for (const auto& use : collective.communicators) {
    communication.axes.push_back(
        {use.axis, use.operations, communication.groups.size(), static_cast<int>(servers.size())});
    for (const auto& group : groups) {
      communication.labels.push_back(static_cast<int>(communication.groups.size()));
      auto& members = communication.groups.emplace_back(group);
      members.insert(members.end(), servers.begin(), servers.end());
    }
  }
  communication.background = read_background(given, *communication.cluster);
}

void settle_host(Files& files, const GivenJob& given, const Collective* collective, Scenario& scenario) {
  const auto& section = given.job.host;
  auto& host = scenario.host;
  constexpr double kFusedOverSingle = 6.6;  // measurements/h100/offload.csv
  host.adam_rate = section.adam_rate;
  if (!given.job.optimizer.fused && !given.has("host.adam_rate")) host.adam_rate /= kFusedOverSingle;
  constexpr BytesPerSecond kUsual(24e9);  // PCIe 4.0
  host.copy_bandwidth = section.copy_bandwidth.value_or(kUsual);
  if (!given.job.cluster.topology) return;
  auto topology = find_topology(files, given);
  host.ranks = std::min(scenario.world_size, topology->usual_size().value_or(1));
  if (section.copy_bandwidth || !copies_from_host(given)) return;
  std::optional<BytesPerSecond> known;
  if (const auto* communication = scenario.communication.get())
    known = files.once(CopiesKey{cluster_key(files, given, *collective)}, [&] {
      std::set<int> all;
      for (const auto& group : communication->groups) all.insert(group.begin(), group.end());
      return pcie_copy_bandwidth(*communication->cluster, std::vector<int>(all.begin(), all.end()));
    });
  host.copy_bandwidth = known ? *known : usual_copy_bandwidth(*topology);
}

}  // namespace ddpsim
