// The parts of `cluster` that say who talks: groups, background traffic.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/resolve/sections.hpp"

namespace ddpsim {
namespace {

constexpr const char* kGroups = "cluster.groups";

std::string group_path(std::size_t group) {
  return fmt::format("{}[{}]", kGroups, group);
}

// Megatron-LM's order: the ranks of a tensor-parallel group follow one another, so a data-parallel group is
// every size-th rank.
std::vector<GroupSection> tensor_parallel_groups(int size, const GivenJob& given) {
  int world_size = given.job.cluster.world_size;
  if (world_size % size != 0)
    throw InputError(given.at("cluster.groups.tensor_parallel"),
                     fmt::format("{} ranks are no multiple of {}", world_size, size),
                     "use a divisor of the world size");
  std::vector<GroupSection> groups(static_cast<std::size_t>(size));
  for (int rank = 0; rank < world_size; ++rank)
    groups[static_cast<std::size_t>(rank % size)].ranks.push_back(rank);
  return groups;
}

std::vector<int> listed(const job::RankRange& range) {
  std::vector<int> ranks;
  for (std::int64_t rank = range.from; rank <= range.to; rank += range.step)
    ranks.push_back(static_cast<int>(rank));
  return ranks;
}
const std::vector<int>& listed(const std::vector<int>& ranks) {
  return ranks;
}

void check_partition(const std::vector<GroupSection>& groups, const GivenJob& given) {
  auto world_size = static_cast<std::size_t>(given.job.cluster.world_size);
  std::vector<std::size_t> group_of(world_size, groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int rank : groups[g].ranks) {
      if (static_cast<std::size_t>(rank) >= world_size)
        throw InputError(given.at(group_path(g) + ".ranks"),
                         fmt::format("there is no rank {} among {}", rank, world_size),
                         fmt::format("the last rank is {}", world_size - 1));
      auto& mine = group_of[static_cast<std::size_t>(rank)];
      if (mine != groups.size())
        throw InputError(given.at(group_path(g)),
                         mine == g ? fmt::format("rank {} is listed twice", rank)
                                   : fmt::format("rank {} is in group {} already", rank, mine),
                         "a rank reduces its gradients in one group");
      mine = g;
    }
  for (std::size_t rank = 0; rank < group_of.size(); ++rank)
    if (group_of[rank] == groups.size())
      throw InputError(given.at(kGroups), fmt::format("rank {} is in no group", rank),
                       "put every rank of world_size into a group");
}

}  // namespace

std::vector<GroupSection> one_group(int world_size) {
  std::vector<GroupSection> groups(1);
  groups[0].ranks.resize(static_cast<std::size_t>(world_size));
  std::iota(groups[0].ranks.begin(), groups[0].ranks.end(), 0);
  return groups;
}

std::vector<GroupSection> read_groups(const GivenJob& given) {
  int world_size = given.job.cluster.world_size;
  const auto& section = given.job.cluster.groups;
  if (std::holds_alternative<job::AllRanks>(section)) return one_group(world_size);
  std::vector<GroupSection> groups;
  const auto* list = std::get_if<std::vector<job::Group>>(&section);
  if (list) {
    for (const auto& one : *list)
      groups.push_back(
          {std::visit([](const auto& ranks) { return std::vector<int>(listed(ranks)); }, one.ranks),
           one.offset});
    check_partition(groups, given);
  } else {
    groups = tensor_parallel_groups(std::get<job::TensorParallel>(section).ranks, given);
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].ranks.size() < 2 && world_size > 1)
      throw InputError(given.at(list ? group_path(g) : kGroups),
                       fmt::format("a group of {} rank{} communicates nothing", groups[g].ranks.size(),
                                   groups[g].ranks.empty() ? "s" : ""),
                       "data parallelism needs at least 2 ranks in a group");
  return groups;
}

std::vector<BackgroundFlow> read_background(const GivenJob& given, const Cluster& cluster) {
  std::vector<BackgroundFlow> flows;
  for (const auto& section : given.job.cluster.background) {
    BackgroundFlow flow{{}, section.start, section.size, section.end};
    for (std::size_t i = 0; i < section.links.size(); ++i) {
      const auto& place = given.at(fmt::format("cluster.background[{}].links[{}]", flows.size(), i));
      for (int link : cluster.links_named(section.links[i], place)) {
        if (cluster.broken(link))
          throw InputError(place, fmt::format("link {} is broken", cluster.link_name(link)),
                           "nothing crosses it: name another, or mend it");
        if (std::ranges::find(flow.links, link) != flow.links.end())
          throw InputError(place, fmt::format("link {} is named twice", cluster.link_name(link)),
                           "a flow crosses a link once; a second flow is another entry");
        flow.links.push_back(link);
      }
    }
    flows.push_back(std::move(flow));
  }
  return flows;
}

}  // namespace ddpsim
