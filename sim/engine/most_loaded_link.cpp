#include "sim/engine/most_loaded_link.hpp"

#include <algorithm>
#include <vector>

#include "sim/collective/link_load.hpp"

namespace ddpsim {
namespace {

constexpr double kSameLoad = 1e-9;  // of the load, between links of the same use

std::vector<Bytes> messages(const ReductionPlan& plan) {
  auto all = all_reduces_of(plan);
  if (plan.used_parameter_bitmap) all.push_back(*plan.used_parameter_bitmap);
  return all;
}

// What goes through each stage of a group's schedule. Under NCCL's model an all-reduce is one of the stages.
std::vector<Bytes> bytes_by_stage(const Scenario& scenario, std::size_t group, std::size_t stages) {
  std::vector<Bytes> bytes(stages);
  const auto& nccl = scenario.communication->nccl;
  for (Bytes message : messages(scenario.plan)) {
    if (!nccl.empty()) {
      bytes[nccl[group]->choose(message).stage] += message;
      continue;
    }
    for (auto& of_stage : bytes) of_stage += message;
  }
  return bytes;
}

}  // namespace

std::optional<MostLoadedLink> most_loaded_link(const Scenario& scenario) {
  // Of gathers and reduce-scatters nobody asked yet.
  if (!scenario.communication || scenario.communication->library || scenario.communication->is_alone() ||
      scenario.strategy_plan)
    return std::nullopt;
  const auto& cluster = *scenario.communication->cluster;
  std::vector<double> bytes(static_cast<std::size_t>(cluster.links()));
  with_traffic(*scenario.communication, [&](const Traffic& traffic) {
    for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
      const auto& stages = traffic.groups[g].schedule->stages;
      auto weights = bytes_by_stage(scenario, g, stages.size());
      for (std::size_t s = 0; s < stages.size(); ++s) add_link_bytes(stages[s], weights[s], bytes);
    }
  });
  MostLoadedLink most;
  for (int link = 0; link < cluster.links(); ++link) {
    double load = bytes[static_cast<std::size_t>(link)];
    if (load == 0) continue;
    Seconds busy = Bytes(load) / scenario.communication->capacity(link);
    if (busy > most.busy * (1 + kSameLoad))
      most = {link, busy, 1};
    else if (busy >= most.busy * (1 - kSameLoad))
      ++most.as_loaded;
  }
  return most;
}

}  // namespace ddpsim
