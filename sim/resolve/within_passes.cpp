// What one collective takes of those that GPUs which share layers, sequences or experts have within passes.
#include <algorithm>
#include <mutex>

#include "sim/compute/expert_dispatch.hpp"
#include "sim/engine/together.hpp"
#include "sim/resolve/dispatch_places.hpp"
#include "sim/resolve/shared_model.hpp"

namespace ddpsim {
namespace {

TensorCollectives time_tensor_collectives(CollectiveCost& cost, const ModelStep& step,
                                          const Parallelism& degrees) {
  auto tokens = static_cast<double>(split_step(step, degrees).step.shape.tokens());
  Bytes values(tokens * static_cast<double>(step.model.hidden) * activation_bytes(step.step.precision));
  TensorCollectives times;
  auto of = [&](Operation operation) { return cost.alone(operation, values).queued; };
  times.all_reduce = of(Operation::all_reduce);
  times.small = cost.alone(Operation::all_reduce, Bytes(4 * tokens)).queued;
  if (degrees.sequence) {
    times.all_gather = of(Operation::all_gather);
    times.reduce_scatter = of(Operation::reduce_scatter);
  }
  return times;
}

bool cross_nodes(const Cluster& cluster, const std::vector<std::vector<int>>& groups) {
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<int>& gpus) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](int gpu) { return cluster.node_of(gpu) != cluster.node_of(gpus.front()); });
  });
}

// Costs find out every size once: one thread at a time.
class GuardedCost final : public CollectiveCost {
 public:
  explicit GuardedCost(std::unique_ptr<CollectiveCost> cost) : cost_(std::move(cost)) {}
  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    std::scoped_lock lock(mutex_);
    return cost_->alone(operation, bytes);
  }

 private:
  std::unique_ptr<CollectiveCost> cost_;
  std::mutex mutex_;
};

// Groups of an axis, and what they take, all at once.
struct GroupsAtOnce {
  std::shared_ptr<const Communication> groups;
  std::shared_ptr<CollectiveCost> cost;
};
struct GroupsKey {
  using Value = GroupsAtOnce;
  SharedClusterKey cluster;
  Parallelism degrees;
  std::string axis;
  auto operator<=>(const GroupsKey&) const = default;
  static std::size_t kept(const GroupsAtOnce& made) { return kept_by(*made.groups); }
};

std::shared_ptr<CollectiveCost> cost_within_passes(Files& files, const SharedCluster& of,
                                                   const CommunicatorAxis& axis,
                                                   std::vector<std::vector<int>> (Places::*groups_of)() const,
                                                   Scenario& scenario) {
  const auto& known = files.once(GroupsKey{of.key, of.places.degrees(), axis.name}, [&] {
    auto groups = std::make_shared<Communication>(*of.cluster);
    groups->groups = (of.places.*groups_of)();
    groups->labels.assign(groups->groups.size(), 0);
    groups->axes = {axis};
    settle_shared_groups(files, of, *groups);
    return GroupsAtOnce{groups, std::make_shared<GuardedCost>(cost_together(groups))};
  });
  add_network_notes(of.given, of.topology, *known.groups, scenario);
  return known.cost;
}

TensorCollectives tensor_times(Files& files, const SharedCluster& of, Scenario& scenario) {
  const auto& degrees = of.places.degrees();
  if (degrees.tensor == 1) return {};
  CommunicatorAxis axis{.name = "tensor", .operations = {Operation::all_reduce}};
  if (degrees.sequence)
    axis.operations = {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter};
  auto cost = cost_within_passes(files, of, axis, &Places::tensor_groups, scenario);
  auto times = time_tensor_collectives(*cost, *scenario.model_step, degrees);
  times.crosses_nodes = cross_nodes(*of.cluster->cluster, of.places.tensor_groups());
  return times;
}

ContextCollectives context_times(Files& files, const SharedCluster& of, Scenario& scenario) {
  const auto& degrees = of.places.degrees();
  if (degrees.context == 1) return {};
  auto cost =
      cost_within_passes(files, of, {.name = "context", .operations = operations_of(degrees.context_kind)},
                         &Places::context_groups, scenario);
  auto time_of = [&](Operation operation, Bytes bytes) { return cost->alone(operation, bytes).queued; };
  auto [queries, keys_values] = attention_inputs(split_step(*scenario.model_step, degrees));
  ContextCollectives times;
  times.crosses_nodes = cross_nodes(*of.cluster->cluster, of.places.context_groups());
  switch (degrees.context_kind) {
    case ContextKind::ring:
      times.keys_values = time_of(Operation::send_recv, keys_values);
      times.with_gradients = time_of(Operation::send_recv, 2 * keys_values);
      break;
    case ContextKind::all_gather:
      times.all_gather = time_of(Operation::all_gather, degrees.context * keys_values);
      times.reduce_scatter = time_of(Operation::reduce_scatter, degrees.context * keys_values);
      break;
    case ContextKind::all_to_all:
      times.inputs = time_of(Operation::all_to_all, queries + keys_values);
      times.output = time_of(Operation::all_to_all, queries);
      break;
  }
  return times;
}

ExpertCollectives expert_times(Files& files, const SharedCluster& of, Scenario& scenario) {
  const auto& degrees = of.places.degrees();
  if (degrees.expert.ranks == 1) return {};
  if (!is_of_nccl(degrees.expert.dispatcher)) return dispatched_times(of, scenario);
  auto cost = cost_within_passes(files, of,
                                 {.name = "expert", .operations = operations_of(degrees.expert.dispatcher)},
                                 &Places::expert_groups, scenario);
  auto time_of = [&](Operation operation, Bytes sent) { return cost->alone(operation, sent).queued; };
  auto bytes = expert_bytes(split_step(*scenario.model_step, degrees));
  bool is_direct = degrees.expert.dispatcher == Dispatcher::all_to_all;
  auto there = is_direct ? Operation::all_to_all : Operation::all_gather;
  auto back = is_direct ? Operation::all_to_all : Operation::reduce_scatter;
  Seconds gather, scatter;
  if (degrees.expert.tensor > 1) {
    auto among = cost_within_passes(
        files, of,
        {.name = "expert-tensor", .operations = {Operation::all_gather, Operation::reduce_scatter}},
        &Places::expert_tensor_groups, scenario);
    gather = among->alone(Operation::all_gather, bytes.gathered).queued;
    scatter = among->alone(Operation::reduce_scatter, bytes.gathered).queued;
  }
  return {.dispatch = time_of(there, bytes.dispatch),
          .combine = time_of(back, bytes.combine),
          .probabilities = time_of(there, bytes.probabilities),
          .counts = time_of(Operation::all_gather, bytes.counts),
          .gather = gather,
          .scatter = scatter,
          .crosses_nodes = cross_nodes(*of.cluster->cluster, of.places.expert_groups())};
}

}  // namespace

WithinPasses find_within_passes(Files& files, const SharedCluster& of, Scenario& scenario) {
  WithinPasses within;
  within.tensor = tensor_times(files, of, scenario);
  within.context = context_times(files, of, scenario);
  within.expert = expert_times(files, of, scenario);
  return within;
}

}  // namespace ddpsim
