#include "sim/collective/fold.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "sim/collective/refinement.hpp"

namespace ddpsim {
namespace {

// One channel with a flow a colour. Edges of one colour that share a link are `times` flows like it.
FlowChannel folded_channel(const Refinement& refinement, const Refinement::ChannelRef& ref) {
  const Channel& channel = *ref.channel;
  FlowChannel result{Coupling::rounds, chunking_of(channel, ref.operation)};
  std::set<int> colors;
  for (std::size_t i = 0; i < channel.edges.size(); ++i) {
    std::size_t e = ref.first_edge + i;
    if (!colors.insert(refinement.edge_color(e)).second) continue;
    const Edge& edge = channel.edges[i];
    Flow flow{{}, edge.latency, edge.piece.share(), refinement.edge_level(e)};
    for (auto use : refinement.uses(e))
      flow.route.insert(flow.route.end(), static_cast<std::size_t>(use.times), use.link_class);
    result.last_level = std::max(result.last_level, flow.level);
    result.flows.push_back(std::move(flow));
  }
  return result;
}

using Stages = std::vector<std::vector<FlowChannel>>;

struct FoldedGroup {
  std::vector<std::size_t> members;
  Stages stages;
};

std::vector<FoldedGroup> folded_groups(const Traffic& traffic, const Refinement& refinement) {
  std::vector<FoldedGroup> groups;
  std::map<int, std::size_t> group_of;           // by colour
  std::vector<std::map<int, std::size_t>> seen;  // by group: channel colour -> place in its stage
  for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
    auto [it, is_new] = group_of.try_emplace(refinement.group_color(g), groups.size());
    if (is_new) {
      groups.emplace_back().stages.resize(traffic.groups[g].schedule->stages.size());
      seen.emplace_back();
    }
    groups[it->second].members.push_back(g);
  }
  for (std::size_t c = 0; c < refinement.channels().size(); ++c) {
    const auto& ref = refinement.channels()[c];
    auto index = group_of.at(refinement.group_color(ref.group));
    auto& group = groups[index];
    if (group.members.front() != ref.group) continue;
    auto& stage = group.stages[ref.stage];
    auto [it, is_new] = seen[index].try_emplace(refinement.channel_color(c), stage.size());
    if (is_new)
      stage.push_back(folded_channel(refinement, ref));
    else
      ++stage[it->second].copies;
  }
  return groups;
}

// Everything that lists links, to leave links out or to number them anew.
class Routes {
 public:
  Routes(std::vector<FoldedGroup>& groups, std::vector<std::vector<int>>& background) {
    std::size_t phases = 0;
    for (auto& group : groups) {
      std::size_t stage_index = 0;
      for (auto& stage : group.stages) {
        for (auto& channel : stage)
          for (auto& flow : channel.flows) all_.push_back({&flow.route, phases, stage_index});
        ++stage_index;
      }
      ++phases;
    }
    for (auto& route : background) all_.push_back({&route, phases++, 0});
    for (std::size_t u = 0; u < all_.size(); ++u)
      for (int link : *all_[u].route) users_[link].insert(u);
  }

  // Drops every link that cannot be a bottleneck: its users together cannot fill it, whatever they do,
  // because each is limited elsewhere and stages of one group never run at once.
  void drop_slack(const std::vector<BytesPerSecond>& capacities) {
    for (auto& [link, users] : users_) {
      std::map<std::size_t, std::map<std::size_t, double>> demand;  // by group and stage
      for (std::size_t user : users)
        demand[all_[user].group][all_[user].stage] += most(user, link, capacities);
      double together = 0;
      for (const auto& [group, stages] : demand)
        together += std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                    })->second;
      if (together > capacities[static_cast<std::size_t>(link)].value() * (1 + 1e-12)) continue;
      for (std::size_t user : users) std::erase(*all_[user].route, link);
    }
  }

  // k users that each count a multiple of g on a link are the same users on a link of 1/g of the capacity.
  // Leaves the link classes in use, numbered from 0.
  std::vector<BytesPerSecond> renumber(const std::vector<BytesPerSecond>& capacities) {
    std::map<int, long> common;  // divisor of how often each user lists a link
    for (const auto& user : all_)
      for (const auto& [link, times] : times_of(*user.route)) common[link] = std::gcd(common[link], times);
    std::vector<BytesPerSecond> links;
    std::map<int, int> number;
    for (auto [link, divisor] : common) {
      number[link] = static_cast<int>(links.size());
      links.push_back(capacities[static_cast<std::size_t>(link)] / static_cast<double>(divisor));
    }
    for (const auto& user : all_) {
      auto times = times_of(*user.route);
      user.route->clear();
      for (auto [link, count] : times)
        user.route->insert(user.route->end(), static_cast<std::size_t>(count / common[link]), number[link]);
    }
    return links;
  }

 private:
  struct User {
    std::vector<int>* route;
    std::size_t group;  // background flows count on
    std::size_t stage;
  };

  static std::map<int, long> times_of(const std::vector<int>& route) {
    std::map<int, long> times;
    for (int link : route) ++times[link];
    return times;
  }

  // What a user can put on `link` at most, limited by its other links only.
  [[nodiscard]] double most(std::size_t user, int link, const std::vector<BytesPerSecond>& capacities) const {
    double rate = std::numeric_limits<double>::infinity();
    double here = 0;
    for (auto [other, times] : times_of(*all_[user].route)) {
      if (other == link)
        here = static_cast<double>(times);
      else
        rate =
            std::min(rate, capacities[static_cast<std::size_t>(other)].value() / static_cast<double>(times));
    }
    return here * rate;
  }

  std::vector<User> all_;
  std::map<int, std::set<std::size_t>> users_;  // by link
};

}  // namespace

bool TrafficPlan::is_contended() const {
  std::vector<int> users(links.size(), 0);
  auto use = [&](std::set<int> mine) {
    for (int link : mine)
      if (++users[static_cast<std::size_t>(link)] > 1) return true;
    return false;
  };
  for (const auto& group : groups) {
    std::set<int> mine;
    for (const auto& stage : group.plan.stages)
      for (const auto& unit : stage.units) mine.insert(unit.links.begin(), unit.links.end());
    if (use(std::move(mine))) return true;
  }
  return std::any_of(background.begin(), background.end(), [&](const auto& route) {
    return use({route.begin(), route.end()});
  });
}

TrafficPlan fold(const Traffic& traffic) {
  Refinement refinement(traffic);
  auto groups = folded_groups(traffic, refinement);
  TrafficPlan folded;
  for (const auto& links : traffic.background) folded.background.push_back(refinement.link_classes(links));
  auto capacities = refinement.capacities();
  Routes routes(groups, folded.background);
  routes.drop_slack(capacities);
  folded.links = routes.renumber(capacities);
  for (auto& group : groups) {
    auto& result = folded.groups.emplace_back();
    result.members = std::move(group.members);
    for (auto& stage : group.stages) result.plan.stages.push_back(into_units(std::move(stage)));
  }
  return folded;
}

TrafficPlan unfold(const Traffic& traffic) {
  TrafficPlan plan;
  std::map<int, int> number;
  auto renumber = [&](auto& route) {
    for (int& link : route) {
      auto [it, is_new] = number.try_emplace(link, static_cast<int>(plan.links.size()));
      if (is_new) plan.links.push_back(traffic.capacity(link));
      link = it->second;
    }
  };
  for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
    CollectiveSchedule schedule = *traffic.groups[g].schedule;
    for (auto& stage : schedule.stages)
      for (auto& channel : stage.channels)
        for (auto& edge : channel.edges) renumber(edge.route);
    plan.groups.push_back({{g}, unfolded(schedule)});
  }
  plan.background = traffic.background;
  for (auto& route : plan.background) renumber(route);
  return plan;
}

}  // namespace ddpsim
