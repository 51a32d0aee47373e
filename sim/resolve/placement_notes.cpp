#include "sim/resolve/placement_notes.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/resolve/sections.hpp"
#include "sim/text/cluster_overrides.hpp"

namespace ddpsim {
namespace {

// Ascending.
std::vector<int> nodes_of(const Cluster& cluster, std::span<const int> gpu_of_rank) {
  std::set<int> nodes;
  for (int gpu : gpu_of_rank) nodes.insert(cluster.node_of(gpu));
  return {nodes.begin(), nodes.end()};
}

bool is_idle(int node, const std::vector<int>& used) {
  return !std::binary_search(used.begin(), used.end(), node);
}

// Whether the job runs on the same GPUs with all nodes whole.
bool goes_round_none(const Placement& placement, const Cluster& cluster, std::span<const int> gpu_of_rank) {
  return std::ranges::equal(place_ranks(placement, cluster, static_cast<int>(gpu_of_rank.size())),
                            gpu_of_rank);
}

// The node whose own links these are, if it has no rank.
std::optional<int> idle_node_of(int link, const Cluster& cluster, const std::vector<int>& used) {
  for (int node = 0; node < cluster.nodes(); ++node)
    if (cluster.own_links(node).has(link)) return is_idle(node, used) ? std::optional(node) : std::nullopt;
  return std::nullopt;
}

// Nodes without a rank whose own links the override changes; none: it changes others too.
std::set<int> idle_nodes_of(const LinkOverride& change, const Cluster& cluster,
                            const std::vector<int>& used) {
  std::set<int> idle;
  for (int link : cluster.links_named(change.link, change.span)) {
    auto node = idle_node_of(link, cluster, used);
    if (!node) return {};
    idle.insert(*node);
  }
  return idle;
}

// {0, 1, 2, 5}: "nodes 0-2, 5".
std::string nodes_in_words(std::span<const int> ascending) {
  constexpr std::size_t kMost = 24;
  std::vector<std::string> ranges;
  for (std::size_t first = 0, next = 0; first < ascending.size(); first = next) {
    for (next = first + 1; next < ascending.size() && ascending[next] == ascending[next - 1] + 1;) ++next;
    if (ranges.size() == kMost) {
      ranges.push_back("...");
      break;
    }
    ranges.push_back(next - first == 1 ? fmt::format("{}", ascending[first])
                                       : fmt::format("{}-{}", ascending[first], ascending[next - 1]));
  }
  return fmt::format("{} {}", ascending.size() == 1 ? "node" : "nodes", fmt::join(ranges, ", "));
}

std::optional<Note> domain_note(const Placement& placement, const Cluster& cluster) {
  int of_node = cluster.gpus() / cluster.nodes();
  if (cluster.nodes() == 1 || placement.of_node >= of_node) return std::nullopt;
  return Note{"domain-gpus", fmt::format("the job takes {} of the {} GPUs of each node (cluster.domain_gpus)",
                                         placement.of_node, of_node)};
}

}  // namespace

std::vector<Note> placement_notes(const GivenJob& given, const Topology& topology, const Cluster& cluster,
                                  std::span<const int> gpu_of_rank) {
  auto placement = job_placement(given, topology);
  std::vector<Note> notes;
  if (auto note = domain_note(placement, cluster)) notes.push_back(std::move(*note));
  if (!given.has("cluster.placement") && given.job.cluster.overrides.empty()) return notes;
  auto used = nodes_of(cluster, gpu_of_rank);
  if (placement.kind == PlacementKind::random_nodes)
    notes.push_back({"nodes-drawn", fmt::format("random_nodes {} draws {} of {}", placement.seed,
                                                nodes_in_words(used), cluster.nodes())});
  auto overrides = read_cluster_overrides(given);
  std::set<int> idle;
  if (goes_round_none(placement, cluster, gpu_of_rank)) idle = overrides.broken_nodes;
  // Traffic that is not the job's may use their links.
  if (given.job.cluster.background.empty())
    for (const auto& change : overrides.links) idle.merge(idle_nodes_of(change, cluster, used));
  if (!idle.empty())
    notes.push_back(
        {"override-unused",
         fmt::format("cluster.overrides of {} change nothing: the job runs on {}",
                     nodes_in_words(std::vector(idle.begin(), idle.end())), nodes_in_words(used))});
  return notes;
}

}  // namespace ddpsim
