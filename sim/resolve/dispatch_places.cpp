#include "sim/resolve/dispatch_places.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "sim/compute/expert_dispatch.hpp"

namespace ddpsim {
namespace {

constexpr const char* kUseNccl = "or use dispatcher: all_to_all";

SourceSpan place_of_key(const SharedCluster& of, const char* key) {
  return of.given.has(key) ? of.given.at(key) : of.given.at("expert.dispatcher");
}

DispatchMachine machine_of(const SharedCluster& of, const GpuDescription& gpu) {
  if (auto machine = dispatch_machine(gpu, of.topology.rack_size().has_value())) return *machine;
  throw InputError(
      of.given.at("expert.dispatcher"),
      fmt::format("nobody has measured {} on {}",
                  name_in(kDispatcherNames, of.places.degrees().expert.dispatcher), gpu.name),
      fmt::format("measured are GPUs of the architectures hopper (H100, H200) and blackwell (B200, "
                  "B300, GB200, GB300): use one of them, {}",
                  kUseNccl));
}

// One group of ranks that share experts: the one on most nodes.
class Group {
 public:
  explicit Group(const SharedCluster& of)
      : of_(of), cluster_(*of.cluster->cluster), gpus_(of.places.expert_groups().front()) {}

  [[nodiscard]] DispatchPlaces places() const {
    DispatchPlaces found{.ranks = static_cast<int>(gpus_.size())};
    std::set<int> nodes;
    for (int gpu : gpus_) nodes.insert(cluster_.node_of(gpu));
    found.nodes = static_cast<int>(nodes.size());
    for (int gpu : gpus_) {
      if (gpu == gpus_.front()) continue;
      auto route = cluster_.route(gpus_.front(), gpu);
      bool is_near = cluster_.node_of(gpu) == cluster_.node_of(gpus_.front());
      if (is_near) check_nvlink(route);
      auto& slowest = is_near ? found.nvlink : found.nic;
      slowest = slowest == BytesPerSecond() ? route.bandwidth : std::min(slowest, route.bandwidth);
    }
    return found;
  }

 private:
  void check_nvlink(const Route& route) const {
    if (std::ranges::all_of(route.links,
                            [&](int link) { return cluster_.cable(link).medium == Medium::nvlink; }))
      return;
    throw InputError(of_.given.at("expert.dispatcher"),
                     fmt::format("{} sends over NVLink inside a node, and this topology's GPUs have none",
                                 name_in(kDispatcherNames, of_.places.degrees().expert.dispatcher)),
                     fmt::format("use a topology like dgx-h100, {}", kUseNccl));
  }

  const SharedCluster& of_;
  const Cluster& cluster_;
  std::vector<int> gpus_;
};

void check_rack(const SharedCluster& of, const DispatchPlaces& places) {
  auto refuse = [&](std::string why, const char* hint) {
    throw InputError(of.given.at("expert.dispatcher"), std::move(why), fmt::format("{}, {}", hint, kUseNccl));
  };
  if (!of.topology.rack_size())
    refuse("dispatcher: rack is of NVLink domains of more GPUs than a host has, and this topology has none",
           "use one like gb200-nvl72");
  if (places.nodes > 1)
    refuse(fmt::format("dispatcher: rack stays in an NVLink domain, and the {} ranks that share experts are "
                       "in {} of them",
                       places.ranks, places.nodes),
           "let fewer ranks share experts");
  if (places.ranks == 2)
    refuse("dispatcher: rack of 2 ranks takes twice what its law says", "let more ranks share experts");
}

void check(const SharedCluster& of, const GpuDescription& gpu, const DispatchPlaces& places) {
  const auto& shape = of.places.degrees().expert;
  if (shape.dispatcher == Dispatcher::rack) check_rack(of, places);
  if (gpu.multiprocessors > 0 && shape.dispatch_sms > gpu.multiprocessors)
    throw InputError(place_of_key(of, "expert.dispatch_sms"),
                     fmt::format("{} has {} multiprocessors", gpu.name, gpu.multiprocessors),
                     "use fewer: DeepEP's default is 20");
  if (shape.node_limit > places.nodes)
    throw InputError(place_of_key(of, "expert.node_limit"),
                     fmt::format("the {} ranks that share experts are on {} node{}", places.ranks,
                                 places.nodes, places.nodes == 1 ? "" : "s"),
                     "remove it, or use fewer");
}

// docs/model.md, "DeepEP and racks".
std::string errors_of(Dispatcher dispatcher, DispatchMachine machine, bool is_far) {
  if (dispatcher == Dispatcher::rack) return "8 to 12 % off, on 8 ranks up to 26 %";
  if (is_far && machine != DispatchMachine::hopper) return "over nodes taken from H100s, and not measured";
  if (dispatcher == Dispatcher::deepep_low_latency)
    return is_far ? "over nodes 5 to 9 % off" : "in a node 6 to 11 % off";
  if (!is_far) return "in a node 6 to 11 % off";
  return "over 2 and 4 nodes 7 to 16 % off; on 8 nodes one machine took 2 to 3 times as long, another 8 to "
         "24 % "
         "less";
}

}  // namespace

ExpertCollectives dispatched_times(const SharedCluster& of, Scenario& scenario) {
  const auto& step = *scenario.model_step;
  const auto& degrees = of.places.degrees();
  const auto& shape = degrees.expert;
  auto machine = machine_of(of, step.gpu);
  auto places = Group(of).places();
  check(of, step.gpu, places);
  auto split = split_step(step, degrees);
  auto times = dispatch_times(shape, machine, dispatch_load(split.model, split.step.shape), places);
  bool is_far = places.nodes > 1;
  scenario.notes.push_back(
      {"expert-dispatcher-fitted",
       fmt::format(
           "what {} takes is fitted to published tables of one machine each: {} (docs/model.md, \"DeepEP "
           "and racks\")",
           name_in(kDispatcherNames, shape.dispatcher), errors_of(shape.dispatcher, machine, is_far))});
  return {.dispatch = times.dispatch,
          .combine = times.combine,
          .probabilities = {},
          .counts = {},
          .crosses_nodes = is_far};
}

}  // namespace ddpsim
