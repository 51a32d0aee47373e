#include "sim/text/cluster_overrides.hpp"

#include <fmt/core.h>

namespace ddpsim {

std::optional<LinkOverride> link_override(const job::Override& entry, const SourceSpan& place) {
  if (entry.node && entry.broken) return std::nullopt;
  LinkOverride link;
  link.link = entry.node ? fmt::format("node{}", *entry.node) : *entry.link;
  link.bandwidth = entry.bandwidth;
  link.latency = entry.latency;
  link.broken = entry.broken;
  link.span = place;
  return link;
}

ClusterOverrides read_cluster_overrides(const GivenJob& given) {
  ClusterOverrides all;
  const auto& entries = given.job.cluster.overrides;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    const auto& place = given.at(fmt::format("cluster.overrides[{}].{}", i, entry.node ? "node" : "link"));
    if (auto link = link_override(entry, place)) {
      all.links.push_back(*std::move(link));
      continue;
    }
    if (all.broken_nodes.empty()) all.broken_place = place;
    if (!all.broken_nodes.insert(*entry.node).second)
      throw InputError(place, fmt::format("node {} is broken twice", *entry.node), "remove one of the two");
  }
  return all;
}

}  // namespace ddpsim
