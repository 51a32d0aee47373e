#pragma once
// The section `cluster`: with `collective` it says who communicates with whom, and what that takes.
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/resolve/collective.hpp"
#include "sim/resolve/sections.hpp"

namespace ddpsim {

struct RankPlaces {
  std::vector<RankPlace> ranks;
  bool knows_nodes = false;
};

// Who reduces gradients with whom, and over what.
struct ClusterTraffic {
  std::vector<RankGroup> groups;
  std::shared_ptr<const Communication> communication;  // null: as long as a table says
  std::shared_ptr<const RankPlaces> places;
  std::vector<Note> notes = {};  // on its links
  // Sharded within groups: the ranks of each of the communication's.
  std::vector<std::vector<int>> mesh = {};
};

// What decides about it. Points that differ in their buckets only have it in common.
struct ClusterKey {
  using Value = ClusterTraffic;
  TopologyKey topology;
  std::vector<CommunicatorUse> communicators;
  std::vector<std::size_t> program_of_rank;
  std::optional<int> shards;
  int servers;
  bool has_own_nodes;   // the servers
  bool is_one_process;  // which pays latencies that NCCL does not
  JobTexts texts;
  auto operator<=>(const ClusterKey&) const = default;
  // A kilobyte a GPU of each group.
  static std::size_t kept(const ClusterTraffic& traffic);
};
ClusterKey cluster_key(Files& files, const GivenJob& given, const Collective& collective);

// Of a job whose GPUs each have the whole model: its groups, communication and notes.
std::shared_ptr<const RankPlaces> resolve_cluster(Files& files, const GivenJob& given,
                                                  const Collective& collective, Scenario& scenario);

// And doubts.
void add_network_notes(const GivenJob& given, const Topology& topology, const Communication& communication,
                       Scenario& scenario);
// Roughly how many bytes it holds.
std::size_t kept_by(const Communication& communication);

// `variability`: ranks as they are drawn.
void sample(Files& files, const GivenJob& given, const RankPlaces& places, Scenario& scenario);

// Strategy parameter_server: its communicators are those of workers and servers, without a library.
void use_servers(const GivenJob& given, Collective& collective);
// Between workers and parameter servers.
void add_servers(const Files& files, const GivenJob& given, const Topology& topology,
                 const Collective& collective, const Slowdowns& slowdowns, std::vector<int> gpu_of_rank,
                 Communication& communication, ClusterTraffic& traffic);

// What the host does. `collective` (null: not known) after its cluster is resolved.
void settle_host(Files& files, const GivenJob& given, const Collective* collective, Scenario& scenario);

// Where `fsdp.shard_group` stands or would.
const SourceSpan& shard_group_place(const GivenJob& given);

}  // namespace ddpsim
