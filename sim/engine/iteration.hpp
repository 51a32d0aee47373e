#pragma once
// The part of an iteration that every simulator shares: what is asked of the communication lane and when, and
// the timeline that follows from when each collective was in flight. Times count from the start of the last
// backward pass of the slowest rank class, had its group no offset (forward passes lie before zero).
#include <optional>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

struct CollectiveRequest {
  Activity activity = Activity::all_reduce;
  std::size_t index = 0;  // the bucket
  Bytes bytes;
  Seconds launch;  // every rank has launched it
  // Where NCCL's model says what it takes while nobody else uses its links.
  std::optional<NcclModel::Choice> nccl = {};
};

struct Interval {
  Seconds start, end;
};

// What a group of ranks asks for: one request a bucket in launch order, then the used-parameter bitmap where
// the plan has one. Launch times do not decrease.
std::vector<CollectiveRequest> collective_requests(const Scenario& scenario, std::size_t group);

// The launch times of such requests, anew: for ranks that are as slow as the scenario says now.
void set_launch_times(const Scenario& scenario, std::size_t group, std::vector<CollectiveRequest>& requests);

// When the ranks of a group start their iteration.
Seconds iteration_start(const Scenario& scenario, const RankGroup& group);

// A class of the ranks of groups that behave alike (`members`, ascending), with nothing on its lanes yet.
RankTimeline empty_timeline(const Scenario& scenario, const std::vector<std::size_t>& members,
                            std::size_t rank_class);

void sort_by_rank(Timeline& timeline);

// Adds the ranks of groups that behave alike (`members`, ascending). `in_flight` has one entry a request.
void add_group(Timeline& timeline, const Scenario& scenario, const std::vector<std::size_t>& members,
               const std::vector<CollectiveRequest>& requests, const std::vector<Interval>& in_flight);

}  // namespace ddpsim
