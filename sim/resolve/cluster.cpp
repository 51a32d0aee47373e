#include "sim/resolve/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_notes.hpp"
#include "sim/resolve/cluster_mesh.hpp"
#include "sim/resolve/cluster_section.hpp"
#include "sim/resolve/doubts.hpp"
#include "sim/resolve/override_checks.hpp"
#include "sim/resolve/placement_notes.hpp"
#include "sim/resolve/plausibility.hpp"

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
    throw InputError(place,
                     fmt::format("this table was measured with {}, the scenario communicates with {}",
                                 backend_name(*table.backend), backend_name(backend)),
                     fmt::format("write 'backend: {}'{}, or use another table", backend_name(*table.backend),
                                 traits_of(*table.backend).has_several_in_flight
                                     ? " (and 'workers: 1' if one is in flight at a time)"
                                     : ""));
  if (table.world_size != given.job.cluster.world_size)
    throw InputError(place,
                     fmt::format("this table was measured with {} ranks, the cluster has {}",
                                 table.world_size, given.job.cluster.world_size),
                     "use a table of that world size");
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

std::vector<std::vector<int>> mesh_of(const GivenJob& given, const Collective& collective,
                                      std::span<const int> gpu_of_rank, Communication& communication) {
  if (given.has("cluster.groups"))
    throw InputError(given.at("cluster.groups"), "a job that is sharded within groups of ranks is one group",
                     "remove cluster.groups; fsdp.shard_group says how many ranks hold the model together");
  if (!collective.options.rings.empty())
    throw InputError(collective.place, "rings are over all ranks, and here groups of them communicate",
                     "remove 'rings'");
  try {
    bool has_shards = std::ranges::any_of(collective.communicators, [](const auto& use) {
      return use.joined == Joined::shards || use.joined == Joined::replicas;
    });
    int shards = has_shards ? shard_group_ranks(collective.shards, *communication.cluster, gpu_of_rank) : 1;
    communication.labels.clear();
    return add_mesh(collective.communicators, shards, gpu_of_rank, communication);
  } catch (const InputError& error) {
    throw error.at(shard_group_place(given));
  }
}

ClusterTraffic make_traffic(Files& files, const GivenJob& given, const Topology& topology,
                            const Collective& collective) {
  int world_size = given.job.cluster.world_size;
  auto communication = std::make_shared<Communication>();
  communication->options = collective.options;
  communication->cluster = build_cluster(topology, given, link_scale(files, given, topology, collective),
                                         gpus_of(topology, given));
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
  for (std::size_t rank = 0; rank < collective.program_of_rank.size(); ++rank)
    places[rank].group = static_cast<int>(collective.program_of_rank[rank]);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    traffic.groups[g].label = communication->labels[g];
    traffic.groups[g].nodes = alike_nodes(groups[g].ranks, places);
  }
  traffic.places = std::make_shared<const RankPlaces>(RankPlaces{std::move(places), true});
  if (collective.servers) {
    add_servers(files, given, topology, collective, slowdowns, std::move(gpu_of_rank), *communication,
                traffic);
    traffic.communication = std::move(communication);
    return traffic;
  }
  bool has_mesh = !collective.program_of_rank.empty() ||
                  std::any_of(collective.communicators.begin(), collective.communicators.end(),
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
  if (uses_library(given, topology, collective)) {
    if (collective.backend == Backend::gloo) check_gloo_uses(given, cluster);
    add_library_model(given, topology, collective, *communication);
  }
  if (uses_nccl(given, topology, collective)) {
    check_nccl_reads(given, topology);
    add_nccl_models(files, given, *topology.nccl, *communication);
  }
  scale_models(given, *communication);
  if (!traffic.mesh.empty())
    settle_labels(traffic.mesh, traffic.places->ranks, collective.program_of_rank, *communication);
  traffic.communication = std::move(communication);
  return traffic;
}

ClusterTraffic make_measured_traffic(const Files& files, const GivenJob& given, const Topology* topology) {
  int world_size = given.job.cluster.world_size;
  // The topology is not simulated, but known to be sound, and it says which ranks a node holds.
  std::shared_ptr<const Cluster> cluster;
  std::vector<int> gpu_of_rank;
  std::function<std::vector<int>(int)> ranks_of;
  if (topology) {
    cluster = build_cluster(*topology, given, files.links(), gpus_of(*topology, given));
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

bool has_traffic(const Communication& communication, bool is_on_links) {
  return !communication.library && !communication.is_alone() && (is_on_links || !communication.is_settled());
}

const SourceSpan& place_of_traffic(const GivenJob& given, const SourceSpan& collective) {
  if (given.has("collective.nccl")) return given.at("collective.nccl");
  return given.has("collective") ? collective : given.at("cluster.topology");
}

// The traffic of a cluster, folded.
struct FoldedKey {
  using Value = std::shared_ptr<const Communication>;
  ClusterKey of;
  auto operator<=>(const FoldedKey&) const = default;
};

// With its traffic, where there is something to simulate.
std::shared_ptr<const Communication> folded(Files& files, const GivenJob& given, const ClusterKey& key,
                                            const std::shared_ptr<const Communication>& communication) {
  bool is_on_links = given.job.engine.fidelity.value_or(Fidelity::closed_form) != Fidelity::closed_form;
  if (!has_traffic(*communication, is_on_links)) return communication;
  return files.once(FoldedKey{key}, [&] {
    check_scale(given, *communication);
    auto folded = std::make_shared<Communication>(*communication);
    fold_traffic(*folded);
    return folded;
  });
}

// Of ranks that have different programs, what the nodes hold of each.
void set_nodes_of_programs(const RankPlaces& places, const std::vector<std::size_t>& program_of_rank,
                           RankGroup& group) {
  std::map<std::size_t, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < program_of_rank.size(); ++rank)
    ranks[program_of_rank[rank]].push_back(static_cast<int>(rank));
  if (ranks.empty()) return;
  for (auto& one : group.rank_classes) one.nodes = alike_nodes(ranks[one.program], places.ranks);
}

void add_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
               const ClusterTraffic& traffic, Scenario& scenario) {
  const auto& communication = *scenario.communication;
  if (communication.is_alone())
    scenario.notes.push_back({"world-of-one", "a world of 1 communicates nothing: collectives take no time"});
  else if (collective.automatic && !collective.servers && !topology.nccl && topology.usual_size())
    scenario.notes.push_back(
        {"plain-rings", "the topology has no section 'nccl': algorithm auto is plain rings there"});
  scenario.notes.insert(scenario.notes.end(), traffic.notes.begin(), traffic.notes.end());
  std::ranges::move(cluster_notes(topology, *communication.cluster), std::back_inserter(scenario.notes));
  add_network_notes(given, topology, communication, scenario);
  if (!communication.is_alone())
    add_library_notes(given, topology, collective, communication, scenario.notes);
}

}  // namespace

void add_network_notes(const GivenJob& given, const Topology& topology, const Communication& communication,
                       Scenario& scenario) {
  add_doubts(network_doubts(topology, communication), scenario.doubts);
  auto& notes = scenario.notes;
  if (auto note = roce_note(scenario.doubts)) notes.push_back(*std::move(note));
  for (const auto& model : communication.nccl)
    for (auto& note :
         nccl_notes(model->cost().communicator(), allowed_of(given), model->cost().calibration())) {
      auto is_known = [&note](const Note& other) { return other.code == note.code; };
      if (std::none_of(notes.begin(), notes.end(), is_known)) notes.push_back(std::move(note));
    }
}

std::size_t kept_by(const Communication& communication) {
  constexpr std::size_t kOfGpu = 1000;
  std::size_t gpus = 0;
  for (const auto& group : communication.groups) gpus += group.size();
  return kOfGpu * gpus;
}

std::size_t ClusterKey::kept(const ClusterTraffic& traffic) {
  return kept_by(*traffic.communication);
}

ClusterKey cluster_key(Files& files, const GivenJob& given, const Collective& collective) {
  const auto& servers = collective.servers;
  return {topology_key(files, given),
          collective.communicators,
          collective.program_of_rank,
          collective.shards,
          servers ? servers->servers : 0,
          servers && servers->dedicated,
          given.job.strategy->traits.is_one_process,
          texts_of(given, {"cluster", "collective", "workload.stragglers"})};
}

std::shared_ptr<const RankPlaces> resolve_cluster(Files& files, const GivenJob& given,
                                                  const Collective& collective, Scenario& scenario) {
  scenario.world_size = given.job.cluster.world_size;
  scenario.price = given.job.cluster.price;
  scenario.collective_workers = collective.workers;
  auto topology = given.job.cluster.topology ? find_topology(files, given) : nullptr;
  if (collective.table) {
    check_measured_cluster(*collective.table, given);
    auto traffic = make_measured_traffic(files, given, topology.get());
    scenario.groups = std::move(traffic.groups);
    scenario.measured_table = collective.table;
    return traffic.places;
  }
  if (!topology)
    throw InputError(given.at("cluster"), "'cluster' lacks the key 'topology'",
                     "add 'topology: FILE' (only algorithm: measured needs none)");
  auto key = cluster_key(files, given, collective);
  try {
    const auto& traffic = files.once(key, [&] { return make_traffic(files, given, *topology, collective); });
    scenario.groups = traffic.groups;
    scenario.communication = folded(files, given, key, traffic.communication);
    if (!traffic.mesh.empty())
      scenario.groups.front().rank_classes =
          mesh_classes(traffic.mesh, traffic.places->ranks, collective.program_of_rank,
                       *scenario.communication, given.job.engine.fidelity != Fidelity::exact);
    set_nodes_of_programs(*traffic.places, collective.program_of_rank, scenario.groups.front());
    add_notes(given, *topology, collective, traffic, scenario);
    return traffic.places;
  } catch (const InputError& error) {
    throw error.at(place_of_traffic(given, collective.place));
  }
}

}  // namespace ddpsim
