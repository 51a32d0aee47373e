#include "sim/engine/iteration.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// When the last backward pass starts on a rank that is `slowdown` times slower: after `steps` forward and
// `steps - 1` backward passes, all of them slowed down, counted from the start of the iteration.
Seconds backward_start(const Scenario& scenario, double slowdown) {
  double steps = scenario.plan.accumulation_steps;
  Seconds forward = scenario.trace->forward.value_or(Seconds(0));
  return slowdown * (steps * forward + (steps - 1) * scenario.trace->backward());
}

// The same on the common clock, whose zero is the slowest class's.
Seconds backward_start_on_clock(const Scenario& scenario, const RankGroup& group, double slowdown) {
  return group.offset + backward_start(scenario, slowdown) -
         backward_start(scenario, scenario.largest_slowdown());
}

void add(std::vector<Span>& lane, Activity activity, std::size_t index, Seconds start, Seconds end) {
  if (end > start) lane.push_back({activity, index, start, end});
}

std::vector<Span> compute_lane(const Scenario& scenario, Seconds zero, double slowdown, Seconds last_end) {
  const auto& trace = *scenario.trace;
  Seconds forward = slowdown * trace.forward.value_or(Seconds(0));
  Seconds backward = slowdown * trace.backward();
  std::vector<Span> lane;
  for (int step = 0; step < scenario.plan.accumulation_steps; ++step) {
    double ahead =
        scenario.plan.accumulation_steps - 1 - step;  // micro-batches between this one and the last
    Seconds start = zero - ahead * (forward + backward);
    add(lane, Activity::forward, static_cast<std::size_t>(step), start - forward, start);
    add(lane, Activity::backward, static_cast<std::size_t>(step), start, start + backward);
  }
  Seconds computed = zero + backward;
  add(lane, Activity::wait, 0, computed, last_end);
  Seconds reduced = std::max(computed, last_end);
  add(lane, Activity::optimizer, 0, reduced, reduced + slowdown * trace.optimizer.value_or(Seconds(0)));
  return lane;
}

}  // namespace

std::vector<CollectiveRequest> collective_requests(const Scenario& scenario, std::size_t group) {
  const auto& plan = scenario.plan;
  std::vector<CollectiveRequest> requests;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    requests.push_back({Activity::all_reduce, i, plan.buckets[i].wire, {}});
  if (plan.used_parameter_bitmap) {
    // reducer.cpp all_reduce_local_used_map: queued right after the last bucket; before all of them where the
    // first iteration of a static graph reduces everything at the end (delay_all_reduce).
    auto place = plan.launch == LaunchRule::after_backward ? requests.begin() : requests.end();
    requests.insert(place, {Activity::used_parameter_bitmap, 0, *plan.used_parameter_bitmap, {}});
  }
  set_launch_times(scenario, group, requests);
  if (scenario.communication && !scenario.communication->nccl.empty())
    for (auto& request : requests) request.nccl = scenario.communication->nccl[group]->choose(request.bytes);
  return requests;
}

void set_launch_times(const Scenario& scenario, std::size_t group, std::vector<CollectiveRequest>& requests) {
  const auto& plan = scenario.plan;
  auto launches = bucket_launch_times(*scenario.trace, plan);
  DDPSIM_CHECK(launches.size() == plan.buckets.size() && !launches.empty(), "one launch a bucket");
  // launch(class) = start(class) + slowdown * launch grows with the slowdown, so the group's slowest class
  // launches last, always.
  double slowdown = scenario.groups[group].slowest_class().slowdown;
  Seconds start = backward_start_on_clock(scenario, scenario.groups[group], slowdown);
  // A bitmap goes with the bucket beside it.
  auto beside = plan.launch == LaunchRule::after_backward ? launches.front() : launches.back();
  for (auto& request : requests)
    request.launch =
        start + slowdown * (request.activity == Activity::all_reduce ? launches[request.index] : beside);
}

Seconds iteration_start(const Scenario& scenario, const RankGroup& group) {
  return group.offset - backward_start(scenario, scenario.largest_slowdown());
}

RankTimeline empty_timeline(const Scenario& scenario, const std::vector<std::size_t>& members,
                            std::size_t rank_class) {
  const auto& group = scenario.groups[members.front()];
  const auto& one = group.rank_classes[rank_class];
  RankTimeline ranks;
  ranks.rank = one.rank;
  ranks.group = members.front();
  ranks.group_size = group.ranks;
  // Groups that behave alike have the same classes.
  for (std::size_t member : members) {
    const auto& alike = scenario.groups[member].rank_classes[rank_class];
    ranks.ranks += alike.ranks;
    ranks.rank = std::min(ranks.rank, alike.rank);
  }
  ranks.slowdown = one.slowdown;
  ranks.backward_start = backward_start_on_clock(scenario, group, one.slowdown);
  return ranks;
}

void sort_by_rank(Timeline& timeline) {
  std::sort(timeline.rank_classes.begin(), timeline.rank_classes.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
}

void add_group(Timeline& timeline, const Scenario& scenario, const std::vector<std::size_t>& members,
               const std::vector<CollectiveRequest>& requests, const std::vector<Interval>& in_flight) {
  DDPSIM_CHECK(in_flight.size() == requests.size(), "one interval a collective");
  std::vector<Span> communication;
  for (std::size_t i = 0; i < requests.size(); ++i)
    communication.push_back({requests[i].activity, requests[i].index, in_flight[i].start, in_flight[i].end});
  auto ready = bucket_ready_times(*scenario.trace, scenario.plan);
  for (std::size_t c = 0; c < scenario.groups[members.front()].rank_classes.size(); ++c) {
    auto ranks = empty_timeline(scenario, members, c);
    ranks.compute = compute_lane(scenario, ranks.backward_start, ranks.slowdown, communication.back().end);
    ranks.communication = communication;
    for (auto time : ready) ranks.bucket_ready.push_back(ranks.backward_start + ranks.slowdown * time);
    timeline.rank_classes.push_back(std::move(ranks));
  }
  sort_by_rank(timeline);
}

}  // namespace ddpsim
