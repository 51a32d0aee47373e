#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/names.hpp"

namespace ddpsim {
namespace {

struct ActivityRow {
  Activity activity;
  std::string_view name;
  std::optional<Operation> operation = {};  // of a collective
};
constexpr std::array kActivities{
    ActivityRow{Activity::broadcast, "broadcast", Operation::broadcast},
    ActivityRow{Activity::forward, "forward"},
    ActivityRow{Activity::backward, "backward"},
    ActivityRow{Activity::wait, "wait"},
    ActivityRow{Activity::optimizer, "optimizer"},
    ActivityRow{Activity::copy_in, "copy_in"},
    ActivityRow{Activity::copy_out, "copy_out"},
    ActivityRow{Activity::compress, "compress"},
    ActivityRow{Activity::launch, "launch"},
    ActivityRow{Activity::all_reduce, "all_reduce", Operation::all_reduce},
    ActivityRow{Activity::all_gather, "all_gather", Operation::all_gather},
    ActivityRow{Activity::reduce_scatter, "reduce_scatter", Operation::reduce_scatter},
    ActivityRow{Activity::message, "message", Operation::send_recv},
    ActivityRow{Activity::used_parameter_bitmap, "used_parameter_bitmap", Operation::all_reduce},
    ActivityRow{Activity::replicate, "replicate", Operation::broadcast},
    ActivityRow{Activity::reduce, "reduce", Operation::reduce},
    ActivityRow{Activity::push, "push", Operation::reduce},
    ActivityRow{Activity::pull, "pull", Operation::broadcast},
    ActivityRow{Activity::serve, "serve", Operation::reduce},
    ActivityRow{Activity::host_copy, "host_copy"},
    ActivityRow{Activity::peer_copy, "peer_copy"},
    ActivityRow{Activity::host_wait, "host_wait"},
    ActivityRow{Activity::all_to_all, "all_to_all", Operation::all_to_all}};

constexpr const ActivityRow& row_of(Activity activity) {
  return kActivities.at(static_cast<std::size_t>(activity));
}
static_assert(has_each_in_order(kActivities, &ActivityRow::activity, Activity::all_to_all));

constexpr double kSame = 1e-9;  // relative

}  // namespace

std::string_view activity_name(Activity activity) {
  return row_of(activity).name;
}

std::optional<Activity> find_activity(std::string_view name) {
  auto found = std::ranges::find(kActivities, name, &ActivityRow::name);
  return found == kActivities.end() ? std::nullopt : std::optional(found->activity);
}

std::vector<Activity> activities() {
  std::vector<Activity> all;
  for (const auto& row : kActivities) all.push_back(row.activity);
  return all;
}

std::optional<Operation> collective_operation(Activity activity) {
  return row_of(activity).operation;
}

Operation operation_of(Activity activity) {
  return row_of(activity).operation.value_or(Operation::all_reduce);
}

Seconds RankTimeline::duration() const {
  return compute.back().end - compute.front().start;
}

const RankTimeline& Timeline::last_to_finish() const {
  DDPSIM_CHECK(!rank_classes.empty(), "a timeline has at least one rank");
  Seconds longest, latest;
  for (const auto& ranks : rank_classes) longest = std::max(longest, ranks.duration());
  // As long but for rounding.
  auto is_longest = [&](const RankTimeline& ranks) { return longest - ranks.duration() <= kSame * longest; };
  for (const auto& ranks : rank_classes)
    if (is_longest(ranks)) latest = std::max(latest, ranks.compute.back().end);
  auto key = [&](const RankTimeline& ranks) {
    bool is_last = latest - ranks.compute.back().end <= kSame * longest;
    return std::tuple(is_longest(ranks), is_last, ranks.slowdown, -ranks.rank);
  };
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace ddpsim
