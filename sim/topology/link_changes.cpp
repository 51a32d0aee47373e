#include "sim/topology/link_changes.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/core.h>

namespace ddpsim {

void LinkChanges::add(const Cluster& cluster, std::span<const LinkOverride> overrides) {
  std::unordered_set<int> seen;
  for (const auto& override : overrides)
    for (int link : cluster.links_named(override.link, override.span)) {
      if (!seen.insert(link).second)
        throw InputError(override.span,
                         fmt::format("the link {} is overridden twice", cluster.link_name(link)),
                         "merge the two");
      add(link, override);
    }
}

void LinkChanges::add(int link, const LinkOverride& override) {
  auto [it, inserted] = changes_.try_emplace(link, override);
  if (inserted) return;
  auto& change = it->second;
  if (override.bandwidth) change.bandwidth = override.bandwidth;
  if (override.latency) change.latency = override.latency;
  if (override.broken) {
    change.broken = true;
    change.span = override.span;
  }
}

Link LinkChanges::applied(int link, Link figures) const {
  if (changes_.empty()) return figures;
  auto it = changes_.find(link);
  if (it == changes_.end()) return figures;
  return {it->second.bandwidth.value_or(figures.bandwidth), it->second.latency.value_or(figures.latency)};
}

bool LinkChanges::broken(int link) const {
  if (changes_.empty()) return false;
  auto it = changes_.find(link);
  return it != changes_.end() && it->second.broken;
}

std::vector<int> LinkChanges::links() const {
  std::vector<int> links;
  for (const auto& [link, change] : changes_) links.push_back(link);
  std::sort(links.begin(), links.end());
  return links;
}

void LinkChanges::throw_no_way(const Cluster& cluster, const Route& whole, int from_gpu, int to_gpu) const {
  for (int link : whole.links)
    if (broken(link))
      throw InputError(changes_.at(link).span,
                       fmt::format("no way from {} to {}: link {} is broken", cluster.gpu_name(from_gpu),
                                   cluster.gpu_name(to_gpu), cluster.link_name(link)),
                       "no other links lead there; leave one of them whole");
  ddpsim::throw_no_way(cluster, from_gpu, to_gpu);
}

void throw_no_way(const Cluster& cluster, int from_gpu, int to_gpu) {
  throw InputError(
      fmt::format("no link leads from {} to {}", cluster.gpu_name(from_gpu), cluster.gpu_name(to_gpu)),
      "GPUs do not forward for others: both need a direct link or a common switch");
}

}  // namespace ddpsim
