// The section `cluster` of a scenario: with `collective` it says what an all-reduce costs.
#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/core.h>

#include "sim/config/overrides.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_notes.hpp"
#include "sim/text/cluster_mesh.hpp"
#include "sim/text/cluster_section.hpp"
#include "sim/text/doubts.hpp"
#include "sim/text/override_checks.hpp"
#include "sim/text/placement_notes.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim {
namespace {

// Groups of one label do the same at the same times: as many ranks, as slow, starting together.
std::vector<int> labels_of(const std::vector<RankGroup>& groups) {
  std::vector<std::string> kinds;
  std::vector<int> labels;
  for (const auto& group : groups) {
    std::string kind = fmt::format("{} {}", group.ranks, group.offset.value());
    for (const auto& rank_class : group.rank_classes)
      kind += fmt::format(" {}x{}", rank_class.ranks, rank_class.slowdown);
    auto known = std::find(kinds.begin(), kinds.end(), kind);
    labels.push_back(static_cast<int>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(kind);
  }
  return labels;
}

std::vector<RankGroup> make_groups(const std::vector<GroupSection>& sections, const Slowdowns& slowdowns) {
  std::vector<RankGroup> groups;
  for (const auto& section : sections)
    groups.push_back(
        {static_cast<int>(section.ranks.size()), classify(section.ranks, slowdowns), section.offset});
  return groups;
}

std::vector<RankPlace> places_of(const std::vector<GroupSection>& groups, const std::vector<int>& labels,
                                 const Slowdowns& slowdowns, int world_size) {
  std::vector<RankPlace> places(static_cast<std::size_t>(world_size));
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int rank : groups[g].ranks) places[static_cast<std::size_t>(rank)].group = labels[g];
  for (const auto& [rank, slowdown] : slowdowns) places[static_cast<std::size_t>(rank)].slowdown = slowdown;
  return places;
}

void set_nodes(const Cluster& cluster, const std::vector<int>& gpu_of_rank, std::vector<RankPlace>& places) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    places[rank].node = cluster.node_of(gpu_of_rank[rank]);
}

std::vector<int> ranks_of_node(int node, const Cluster& cluster, const std::vector<int>& gpu_of_rank) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < gpu_of_rank.size(); ++rank)
    if (cluster.node_of(gpu_of_rank[rank]) == node) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

void check_measured_cluster(const MeasuredTable& table, const GivenJob& given) {
  for (const char* unused : {"cluster.groups", "cluster.overrides", "cluster.background", "cluster.hashing",
                             "cluster.nics", "cluster.interconnect", "cluster.fabric"})
    if (given.has(unused))
      throw InputError(given.at(unused), "a measured cost knows nothing of this",
                       "remove it, or use another algorithm than measured");
  auto backend = given.job.collective.backend;
  const auto& place = given.at("collective.measured");
  if (table.backend && *table.backend != backend)
    throw InputError(
        place,
        fmt::format("this table was measured with {}, the scenario communicates with {}",
                    backend_name(*table.backend), backend_name(backend)),
        *table.backend == Backend::gloo
            ? "write 'backend: gloo' (and 'workers: 1' if one is in flight at a time), or use another table"
            : "remove 'backend: gloo', or use another table");
  if (table.world_size != given.job.cluster.world_size)
    throw InputError(place,
                     fmt::format("this table was measured with {} ranks, the cluster has {}",
                                 table.world_size, given.job.cluster.world_size),
                     "use a table of that world size");
}

// `cluster.nics` and others, as they stand in the topology's file.
TopologyChanges topology_changes(const GivenJob& given) {
  TopologyChanges changes;
  for (auto [section, of_file] : {std::pair("nics", "node.nics"),
                                  {"interconnect", "node.interconnect"},
                                  {"node", "node"},
                                  {"fabric", "fabric"}})
    if (const auto* value = config::find_at(given.root, fmt::format("cluster.{}", section)))
      for (const auto& entry : value->entries)
        changes.push_back({fmt::format("{}.{}", of_file, entry.key), entry.key_span, entry.value});
  return changes;
}

// Throws InputError (without a place) unless each visits every rank once.
void check_rings(const std::vector<std::vector<int>>& rings, const std::vector<RankGroup>& groups) {
  if (rings.empty()) return;
  if (groups.size() > 1)
    throw InputError("rings are over all ranks, and here several groups reduce among themselves",
                     "remove 'rings', or 'groups'");
  for (std::size_t r = 0; r < rings.size(); ++r) {
    auto sorted = rings[r];
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(static_cast<std::size_t>(groups.front().ranks));
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all)
      throw InputError(fmt::format("ring {} does not visit each of {} ranks once", r, all.size()),
                       fmt::format("list every rank from 0 to {}", all.size() - 1));
  }
}

}  // namespace

std::vector<std::vector<int>> ScenarioReader::mesh_of(const GivenJob& given, const Collective& collective,
                                                      std::span<const int> gpu_of_rank,
                                                      Communication& communication) {
  if (given.has("cluster.groups"))
    throw InputError(given.at("cluster.groups"), "a job that is sharded within groups of ranks is one group",
                     "remove cluster.groups; fsdp.shard_group says how many ranks hold the model together");
  if (!collective.options.rings.empty())
    throw InputError(collective.place, "rings are over all ranks, and here groups of them communicate",
                     "remove 'rings'");
  try {
    int shards = shard_group_ranks(collective.shard_group.ranks, *communication.cluster, gpu_of_rank);
    communication.labels.clear();
    return add_mesh(collective.communicators, shards, gpu_of_rank, communication);
  } catch (const InputError& error) {
    throw error.at(collective.shard_group.place);
  }
}

ClusterTraffic ScenarioReader::make_traffic(const GivenJob& given, const Topology& topology,
                                            const Collective& collective) {
  int world_size = given.job.cluster.world_size;
  auto communication = std::make_shared<Communication>();
  communication->options = collective.options;
  communication->cluster =
      build_cluster(topology, given, link_scale(given, topology, collective), gpus_of(topology, given));
  const Cluster& cluster = *communication->cluster;
  auto gpu_of_rank = place_job(given, topology, cluster);
  auto slowdowns =
      read_stragglers(given, [&](int node) { return ranks_of_node(node, cluster, gpu_of_rank); });
  auto groups = read_groups(given);
  ClusterTraffic traffic{make_groups(groups, slowdowns), {}, {}};
  // Servers on nodes of their own use links of nodes without a rank.
  if (!collective.servers || !collective.servers->dedicated)
    traffic.notes = placement_notes(given, topology, cluster, gpu_of_rank);
  check_rings(collective.options.rings, traffic.groups);
  communication->labels = labels_of(traffic.groups);
  auto places = places_of(groups, communication->labels, slowdowns, world_size);
  set_nodes(cluster, gpu_of_rank, places);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    traffic.groups[g].label = communication->labels[g];
    traffic.groups[g].nodes = alike_nodes(groups[g].ranks, places);
  }
  traffic.places = std::make_shared<const RankPlaces>(RankPlaces{std::move(places), true});
  if (collective.servers) {
    traffic.communication = std::move(communication);
    add_servers(given, topology, collective, slowdowns, std::move(gpu_of_rank), traffic);
    return traffic;
  }
  bool has_mesh = std::any_of(collective.communicators.begin(), collective.communicators.end(),
                              [](const auto& use) { return use.joined != Joined::all; });
  if (has_mesh && world_size > 1) {
    traffic.mesh = mesh_of(given, collective, gpu_of_rank, *communication);
  } else {
    auto uses = collective.communicators;
    std::erase_if(uses, [](const auto& use) { return use.joined == Joined::replicas; });  // of one rank: none
    add_axes(groups, uses, gpu_of_rank, *communication);
  }
  communication->background = read_background(given, cluster);
  if (communication->is_alone()) {
    traffic.communication = std::move(communication);
    return traffic;
  }
  if (uses_gloo(given, topology, collective)) {
    check_gloo_uses(given, cluster);
    add_gloo_model(given, topology, *communication);
  }
  if (uses_nccl(given, topology, collective)) {
    check_nccl_reads(given, topology);
    add_nccl_models(given, *topology.nccl, *communication);
  }
  scale_models(given, *communication);
  if (!traffic.mesh.empty()) settle_labels(traffic.mesh, traffic.places->ranks, *communication);
  traffic.communication = std::move(communication);
  return traffic;
}

std::shared_ptr<const Topology> ScenarioReader::find_topology(const GivenJob& given) {
  auto file = resolve(PresetKind::topologies, given.located(*given.job.cluster.topology, "cluster.topology"));
  auto changes = topology_changes(given);
  auto& topology = topologies_[{file, changes}];
  if (!topology) topology = read_topology(file, changes);
  return topology;
}

ClusterTraffic ScenarioReader::make_measured_traffic(const GivenJob& given, const Topology* topology) {
  int world_size = given.job.cluster.world_size;
  // The topology is not simulated, but known to be sound, and it says which ranks a node holds.
  std::shared_ptr<const Cluster> cluster;
  std::vector<int> gpu_of_rank;
  std::function<std::vector<int>(int)> ranks_of;
  if (topology) {
    cluster = build_cluster(*topology, given, links_, gpus_of(*topology, given));
    gpu_of_rank = place_job(given, *topology, *cluster);
    ranks_of = [&](int node) { return ranks_of_node(node, *cluster, gpu_of_rank); };
  } else {
    for (const char* key : {"cluster.nodes", "cluster.domain_gpus"})
      if (given.has(key))
        throw InputError(given.at(key), "without a topology there are no nodes", "add cluster.topology");
  }
  auto slowdowns = read_stragglers(given, ranks_of);
  auto groups = one_group(world_size);
  auto places = places_of(groups, {0}, slowdowns, world_size);
  auto made = make_groups(groups, slowdowns);
  if (cluster) {
    set_nodes(*cluster, gpu_of_rank, places);
    made.front().nodes = alike_nodes(groups.front().ranks, places);
  }
  return {std::move(made),
          {},
          std::make_shared<const RankPlaces>(RankPlaces{std::move(places), cluster != nullptr})};
}

void ScenarioReader::add_network_notes(const GivenJob& given, const Topology& topology,
                                       const Communication& communication, Scenario& scenario) {
  std::ranges::move(network_doubts(topology, communication), std::back_inserter(scenario.doubts));
  auto& notes = scenario.notes;
  for (const auto& model : communication.nccl)
    for (auto& note :
         nccl_notes(model->cost().communicator(), allowed_of(given), model->cost().calibration())) {
      auto is_known = [&note](const Note& other) { return other.code == note.code; };
      if (std::none_of(notes.begin(), notes.end(), is_known)) notes.push_back(std::move(note));
    }
}

static bool has_traffic(const Communication& communication, std::optional<Fidelity> wanted) {
  bool needs_links = wanted && *wanted != Fidelity::closed_form;
  return !communication.gloo && !communication.is_alone() && (needs_links || !communication.is_settled());
}

static std::shared_ptr<Communication> folded(const std::shared_ptr<Communication>& communication) {
  if (communication->folded) return communication;
  auto copy = std::make_shared<Communication>(*communication);  // others know it as it is
  fold_traffic(*copy);
  return copy;
}

static const SourceSpan& place_of_traffic(const GivenJob& given, const SourceSpan& collective) {
  if (given.has("collective.nccl")) return given.at("collective.nccl");
  return given.has("collective") ? collective : given.at("cluster.topology");
}

std::shared_ptr<const RankPlaces> ScenarioReader::read_cluster(const GivenJob& given,
                                                               const Collective& collective,
                                                               std::optional<Fidelity> wanted,
                                                               Scenario& scenario) {
  scenario.world_size = given.job.cluster.world_size;
  scenario.price = given.job.cluster.price;
  scenario.collective_workers = collective.workers;
  auto topology = given.job.cluster.topology ? find_topology(given) : nullptr;
  if (collective.table) {
    check_measured_cluster(*collective.table, given);
    auto traffic = make_measured_traffic(given, topology.get());
    scenario.groups = std::move(traffic.groups);
    scenario.measured_table = collective.table;
    return traffic.places;
  }
  if (!topology)
    throw InputError(given.at("cluster"), "'cluster' lacks the key 'topology'",
                     "add 'topology: FILE' (only algorithm: measured needs none)");
  const auto& servers = collective.servers;
  auto& traffic = clusters_[{topology.get(),
                             collective.communicators,
                             collective.shard_group.ranks,
                             {servers ? servers->servers : 0, servers && servers->dedicated},
                             sections(given, {"cluster", "collective", "workload.stragglers"})}];
  auto& communication = traffic.communication;
  try {
    if (!communication) {
      traffic = make_traffic(given, *topology, collective);
      std::ranges::move(cluster_notes(*topology, *communication->cluster), std::back_inserter(traffic.notes));
    }
    if (has_traffic(*communication, wanted)) {
      check_scale(given, *communication);
      communication = folded(communication);
    }
    if (!traffic.mesh.empty())
      traffic.groups.front().rank_classes =
          mesh_classes(traffic.mesh, traffic.places->ranks, *communication, wanted != Fidelity::exact);
  } catch (const InputError& error) {
    throw error.at(place_of_traffic(given, collective.place));
  }
  if (communication->is_alone())
    scenario.notes.push_back({"world-of-one", "a world of 1 communicates nothing: collectives take no time"});
  else if (collective.automatic && !servers && !topology->nccl && topology->usual_size())
    scenario.notes.push_back(
        {"plain-rings", "the topology has no section 'nccl': algorithm auto is plain rings there"});
  scenario.notes.insert(scenario.notes.end(), traffic.notes.begin(), traffic.notes.end());
  add_network_notes(given, *topology, *communication, scenario);
  if (collective.backend == Backend::gloo)
    add_gloo_notes(given, *topology, collective, *communication, scenario.notes);
  scenario.groups = traffic.groups;
  scenario.communication = traffic.communication;
  return traffic.places;
}

}  // namespace ddpsim
