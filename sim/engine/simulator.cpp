#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "sim/base/check.hpp"
#include "sim/engine/known_spreads.hpp"
#include "sim/engine/set_apart.hpp"
#include "sim/program/data_parallel.hpp"
#include "sim/replay/replay.hpp"

namespace ddpsim {
namespace {

// A communicator that is replayed.
struct ReplayedGroup {
  std::vector<std::size_t> members;  // Communication's groups that launch the same at the same times
  std::vector<ReplayedCommunicator::Group> groups;  // one for all members that are alike
  Seconds broadcasts = {};                          // before its first forward pass
  int nodes = 1;                                    // that a group spans, at most
};

Seconds broadcasts_of(const Scenario& scenario, CollectiveCost& cost) {
  Seconds sum;
  for (auto bytes : scenario.plan.buffer_broadcasts) sum += cost.alone(Operation::broadcast, bytes).idle;
  return sum;
}

CollectiveCost* cost_of(std::span<const GroupCost> costs, std::size_t group) {
  for (const auto& one : costs)
    if (std::binary_search(one.groups.begin(), one.groups.end(), group)) return one.cost.get();
  DDPSIM_CHECK(false, "every group has a cost");
  return nullptr;
}

int nodes_of(const Communication& communication, std::size_t group) {
  std::set<int> nodes;
  for (int gpu : communication.groups[group]) nodes.insert(communication.cluster->node_of(gpu));
  return static_cast<int>(nodes.size());
}

// Collectives that NICs pace below 12.5 GB/s of bus bandwidth move less beside compute: 12.5 is the least at
// which a strength of 0.25 and more was seen (docs/model.md); kernels that wait still hold some
// multiprocessors. What was said or calibrated has it in it.
double interference_beside(const Scenario& scenario, const ReplayedGroup& group) {
  constexpr BytesPerSecond kWhole(12.5e9);
  constexpr double kLeast = 0.05;
  const auto& range = scenario.physics.range;
  bool is_vague = range && range->least.interference != range->most.interference;
  if (!is_vague || !scenario.communication || scenario.communication->nccl.empty()) return 1;
  const auto& communicator = scenario.communication->nccl[group.members.front()]->cost().communicator();
  if (communicator.nodes == 1) return 1;
  return std::clamp(nccl::ring_busbw(communicator) / kWhole, kLeast, 1.0);
}

// Where GPUs share a model, a class stands for all ranks of a stage, and launches for all groups of an axis:
// these go together, alike or not.
std::vector<ReplayedGroup> by_axis(const Communication& communication, std::vector<ReplayedGroup> groups) {
  std::map<std::size_t, ReplayedGroup> axes;  // by first group
  for (auto& group : groups) {
    auto& axis = axes[communication.axis_of(group.members.front()).first];
    axis.nodes = std::max(axis.nodes, group.nodes);
    std::ranges::move(group.members, std::back_inserter(axis.members));
    std::ranges::move(group.groups, std::back_inserter(axis.groups));
  }
  std::vector<ReplayedGroup> joined;
  for (auto& [first, axis] : axes) {
    std::ranges::sort(axis.members);
    joined.push_back(std::move(axis));
  }
  return joined;
}

std::vector<ReplayedGroup> groups_of(const Scenario& scenario, std::span<const GroupCost> costs,
                                     const TrafficPlan* plan) {
  std::vector<ReplayedGroup> groups;
  if (plan) {
    for (const auto& group : plan->groups)
      groups.push_back({group.members, {{cost_of(costs, group.members.front()), &group.plan}}});
  } else {
    for (const auto& one : costs) groups.push_back({one.groups, {{one.cost.get()}}});
  }
  for (auto& group : groups) {
    group.broadcasts = broadcasts_of(scenario, *group.groups.front().cost);
    if (scenario.parallel || scenario.weather)
      group.nodes = nodes_of(*scenario.communication, group.members.front());
  }
  return groups;
}

// Everything takes longer by that factor.
class SlowedCost final : public CollectiveCost {
 public:
  SlowedCost(CollectiveCost& usual, double factor) : usual_(usual), factor_(factor) {}
  SlowedCost(std::unique_ptr<CollectiveCost> usual, double factor)
      : owned_(std::move(usual)), usual_(*owned_), factor_(factor) {}
  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    auto [idle, queued] = usual_.alone(operation, bytes);
    return {factor_ * idle, factor_ * queued};
  }
  std::optional<OnLinks> on_links(Operation operation, Bytes bytes) override {
    auto usual = usual_.on_links(operation, bytes);
    if (usual) usual->before = factor_ * usual->before;
    return usual;
  }

 private:
  std::unique_ptr<CollectiveCost> owned_;
  CollectiveCost& usual_;
  double factor_;
};

// What groups have in place of their costs and plans.
struct Slowed {
  std::vector<std::unique_ptr<CollectiveCost>> costs;
  std::deque<FlowPlan> plans;
};

// By the axis of the group.
double slower_by_axis(const Scenario& scenario, std::size_t group) {
  auto axis = scenario.communication ? scenario.communication->axis_of(group).name : "data";
  auto found = scenario.slower.find(axis);
  return found == scenario.slower.end() ? 1 : found->second;
}

// The same, and while the fabric gives less than all.
double slower_by(const Scenario& scenario, const ReplayedGroup& group) {
  double factor = slower_by_axis(scenario, group.members.front());
  if (!scenario.weather) return factor;
  DDPSIM_CHECK(scenario.communication && scenario.fidelity == Fidelity::closed_form,
               "weather is of a fabric, and collectives are alone on it");
  return factor / share_of_bandwidth(*scenario.sampled->variability.weather, group.nodes, *scenario.weather);
}

Slowed slow(const Scenario& scenario, std::vector<ReplayedGroup>& groups) {
  Slowed slower;
  for (auto& replayed : groups) {
    double factor = slower_by(scenario, replayed);
    if (factor == 1) continue;
    replayed.broadcasts = factor * replayed.broadcasts;
    for (auto& group : replayed.groups) {
      group.cost = slower.costs.emplace_back(std::make_unique<SlowedCost>(*group.cost, factor)).get();
      if (group.plan) group.plan = &slower.plans.emplace_back(slowed(*group.plan, factor));
    }
  }
  return slower;
}

// No flow is larger: a ring sends 2(n-1)/n of its buffer over an edge, a pipeline less than twice. Background
// traffic is cut into pieces of this size, or of what a link carries in a thousandth of the time until the
// last launch: some thousands of pieces at most.
Bytes largest_flow(const Scenario& scenario, std::span<const ReplayedClass> classes,
                   const TrafficPlan& plan) {
  Bytes largest;
  Seconds first, last;
  for (const auto& one : classes) {
    Seconds computed, last_launch;
    for (const auto& op : one.program->ops) {
      if (op.kind == Op::Kind::compute) {
        computed += op.duration;
      } else {
        largest = std::max(largest, 2 * op.bytes);
        last_launch = computed;
      }
    }
    first = std::min(first, one.start);
    last = std::max(last, one.start + one.slowdown * last_launch);
  }
  for (const auto& flow : scenario.communication->background) first = std::min(first, flow.start);
  for (const auto& route : plan.background)
    for (int link : route)
      largest = std::max(largest, plan.links[static_cast<std::size_t>(link)] * ((last - first) / 1000));
  double slower = 1;
  for (const auto& [axis, factor] : scenario.slower) slower = std::max(slower, factor);
  return (1 + scenario.physics.interference.collective) * slower * largest;
}

// Ranks that train one copy of the model together, and others that do the same at the same times: indices of
// Scenario::groups. Those of the first axis are the communicators of whole jobs, unless ranks say which
// communicators they are in.
std::vector<std::vector<std::size_t>> jobs_of(std::size_t all, std::span<const ReplayedGroup> groups) {
  if (all == 1) return {{0}};
  std::vector<std::vector<std::size_t>> jobs;
  for (const auto& group : groups)
    if (group.members.front() < all) jobs.push_back(group.members);
  return jobs;
}

// Which of the replayed groups each communicator of the ranks' program is.
std::vector<std::size_t> communicators_of(const Scenario& scenario, std::size_t job, const RankClass& ranks,
                                          std::span<const ReplayedGroup> groups) {
  auto mine = ranks.communicators;
  if (mine.empty() && !groups.empty()) {  // none: GPUs that share the model, and exchange nothing
    mine.push_back(job);
    if (const auto* communication = scenario.communication.get())
      for (std::size_t axis = 1; axis < communication->axes.size(); ++axis)
        mine.push_back(communication->axes[axis].first + job);
  }
  for (auto& one : mine) {
    auto found = std::find_if(groups.begin(), groups.end(), [one](const ReplayedGroup& group) {
      return std::binary_search(group.members.begin(), group.members.end(), one);
    });
    one = static_cast<std::size_t>(found - groups.begin());
  }
  return mine;
}

RankTimeline empty_timeline(std::span<const RankGroup> groups, const std::vector<std::size_t>& members,
                            std::size_t rank_class) {
  const auto& group = groups[members.front()];
  const auto& one = group.rank_classes[rank_class];
  RankTimeline ranks;
  ranks.rank = one.rank;
  ranks.group_size = group.ranks;
  // Groups that behave alike have the same classes.
  for (std::size_t member : members) {
    const auto& alike = groups[member].rank_classes[rank_class];
    ranks.ranks += alike.ranks;
    ranks.rank = std::min(ranks.rank, alike.rank);
    ranks.stragglers.insert(ranks.stragglers.end(), alike.stragglers.begin(), alike.stragglers.end());
  }
  std::ranges::sort(ranks.stragglers);
  ranks.slowdown = one.slowdown;
  ranks.stage = one.program;
  return ranks;
}

std::unique_ptr<Network> make_network(const Scenario& scenario, Bytes largest) {
  if (scenario.fidelity == Fidelity::closed_form) return make_timer_network();
  return scenario.network == SharedNetwork::builtin ? make_builtin_network(largest)
                                                    : make_simgrid_network(largest);
}

// On a plan of flows, or (null) with every communicator alone.
SimulatedIteration replay_on(const Scenario& scenario, std::span<const RankGroup> all,
                             std::span<const GroupCost> costs, std::span<const StepProgram> programs,
                             const TrafficPlan* plan) {
  auto groups = groups_of(scenario, costs, plan);
  auto slower = slow(scenario, groups);
  if (scenario.parallel) groups = by_axis(*scenario.communication, std::move(groups));
  Seconds before =
      scenario.parallel ? Seconds() : compute_before_last_backward(*scenario.trace, scenario.plan);
  Seconds zero = largest_slowdown(all) * before;
  std::vector<ReplayedClass> classes;
  std::vector<ReplayedCommunicator> communicators;
  std::vector<const StepProgram*> program_of_class;
  Timeline timeline;
  for (const auto& group : groups)
    communicators.push_back({group.groups, scenario.collective_workers, scenario.parallel && group.nodes > 1,
                             interference_beside(scenario, group)});
  for (const auto& job : jobs_of(all.size(), groups)) {
    const auto& ranks = all[job.front()];
    // Of drawn ranks only the slowest is replayed, with all that there is to do.
    bool has_first = std::ranges::count(ranks.rank_classes, 0, &RankClass::rank) > 0;
    Seconds start = ranks.offset - zero;
    for (std::size_t c = 0; c < ranks.rank_classes.size(); ++c) {
      double slowdown = ranks.rank_classes[c].slowdown;
      auto mine = communicators_of(scenario, job.front(), ranks.rank_classes[c], groups);
      auto broadcasts = mine.empty() ? Seconds() : groups[mine.front()].broadcasts;
      auto& one = timeline.rank_classes.emplace_back(empty_timeline(all, job, c));
      one.backward_start = start + slowdown * before;
      for (auto communicator : mine) one.communicators.push_back(groups[communicator].members.front());
      const auto& program = programs[ranks.rank_classes[c].program];
      program_of_class.push_back(&program);
      bool is_other = program.others && has_first && ranks.rank_classes[c].rank != 0;
      classes.push_back(
          {is_other ? &*program.others : &program.program, slowdown, start - broadcasts, std::move(mine)});
      if (scenario.parallel)
        classes.back().on_links = scenario.parallel->stages[ranks.rank_classes[c].program].on_links;
    }
  }
  SharedLinks links;
  if (plan)
    links = {scenario.fidelity, plan->links, scenario.communication->background, plan->background,
             largest_flow(scenario, classes, *plan)};
  auto network = make_network(scenario, links.piece);
  auto result = replay(classes, communicators, scenario.physics.interference, *network, links);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    auto& ranks = timeline.rank_classes[c];
    ranks.compute = std::move(result.classes[c].compute);
    ranks.other_streams = std::move(result.classes[c].others);
    for (std::size_t own = 0; own < classes[c].communicators.size(); ++own)
      for (auto span : result.communication[classes[c].communicators[own]]) {
        span.communicator = own;  // programs number theirs each for itself
        ranks.communication.push_back(span);
      }
    if (classes[c].communicators.size() > 1)
      std::stable_sort(ranks.communication.begin(), ranks.communication.end(),
                       [](const Span& a, const Span& b) { return a.start < b.start; });
    const auto& ended = result.classes[c].ended;
    const auto& program = *program_of_class[c];
    for (const auto& op : program.ready) ranks.bucket_ready.push_back(op ? ended[*op] : classes[c].start);
    if (const auto& op = program.before_last_backward) ranks.backward_start = ended[*op];
  }
  std::sort(timeline.rank_classes.begin(), timeline.rank_classes.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return {std::move(timeline), network->flows()};
}

// Rank 0 as a class of its own, where ranks are not drawn.
void set_rank_zero_apart(std::vector<RankGroup>& groups) {
  auto& classes = groups.front().rank_classes;
  auto first = std::ranges::find(classes, 0, &RankClass::rank);
  if (first != classes.end()) set_first_apart(classes, static_cast<std::size_t>(first - classes.begin()));
}

// As they are described.
std::vector<GroupCost> usual_costs(const Scenario& scenario) {
  if (!scenario.measured_table) return group_costs(scenario.communication);
  std::vector<GroupCost> costs;
  costs.push_back(measured_cost(scenario.measured_table, scenario.groups.front().ranks));
  return costs;
}

}  // namespace

std::vector<StepProgram> programs_of(const Scenario& scenario) {
  const auto& overheads = scenario.physics.overheads;
  if (scenario.parallel) return parallel_programs(*scenario.parallel, overheads);
  if (scenario.strategy_plan)
    return scenario.strategy_plan->programs(*scenario.trace, scenario.plan.accumulation_steps, overheads);
  std::vector<StepProgram> programs;
  programs.push_back(data_parallel_program(*scenario.trace, scenario.plan, overheads));
  return programs;
}

std::vector<GroupCost> costs_of(const Scenario& scenario) {
  auto costs = usual_costs(scenario);
  for (auto& one : costs)
    if (double factor = slower_by_axis(scenario, one.groups.front()); factor != 1)
      one.cost = std::make_unique<SlowedCost>(std::move(one.cost), factor);
  return costs;
}

struct Simulator::Prepared {
  std::shared_ptr<const void> communication;  // or the measured table
  std::vector<GroupCost> costs;
  std::shared_ptr<const LayerTrace> trace;
  ReductionPlan plan;
  std::shared_ptr<const StrategyPlan> strategy_plan;
  std::shared_ptr<const ParallelStep> parallel;
  Overheads overheads;
  std::vector<StepProgram> programs;
  KnownSpreads spreads;

  void prepare(const Scenario& scenario) {
    std::shared_ptr<const void> of = scenario.communication;
    if (scenario.measured_table) of = scenario.measured_table;
    if (communication != of) {
      costs = usual_costs(scenario);
      communication = of;
    }
    if (trace == scenario.trace && plan == scenario.plan && strategy_plan == scenario.strategy_plan &&
        parallel == scenario.parallel && overheads == scenario.physics.overheads)
      return;
    programs = programs_of(scenario);  // first: it may throw
    trace = scenario.trace;
    plan = scenario.plan;
    strategy_plan = scenario.strategy_plan;
    parallel = scenario.parallel;
    overheads = scenario.physics.overheads;
  }
};

SimulatedIteration Simulator::operator()(const Scenario& scenario) {
  if (!prepared_) prepared_ = std::make_shared<Prepared>();
  prepared_->prepare(scenario);
  const auto& costs = prepared_->costs;
  const auto& programs = prepared_->programs;
  std::vector<RankGroup> apart;
  const auto& with_spread = prepared_->spreads.of(scenario);
  if (scenario.is(&StrategyTraits::is_one_process)) {
    apart = with_spread;
    set_rank_zero_apart(apart);
  }
  const auto& groups = apart.empty() ? with_spread : apart;
  if (scenario.fidelity == Fidelity::closed_form)
    return replay_on(scenario, groups, costs, programs, nullptr);
  const auto* communication = scenario.communication.get();
  DDPSIM_CHECK(communication, "a measured cost is not simulated");
  if (scenario.fidelity != Fidelity::exact)
    return replay_on(scenario, groups, costs, programs, &*communication->folded);
  SimulatedIteration result;
  with_traffic(*communication, [&](const Traffic& traffic) {
    auto unfolded = unfold(traffic);
    result = replay_on(scenario, groups, costs, programs, &unfolded);
  });
  return result;
}

}  // namespace ddpsim
