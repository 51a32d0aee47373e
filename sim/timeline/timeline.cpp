#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/names.hpp"

namespace ddpsim {
namespace {

constexpr Names<Activity, 21> kActivityNames{{{"broadcast", Activity::broadcast},
                                              {"forward", Activity::forward},
                                              {"backward", Activity::backward},
                                              {"wait", Activity::wait},
                                              {"optimizer", Activity::optimizer},
                                              {"copy_in", Activity::copy_in},
                                              {"copy_out", Activity::copy_out},
                                              {"compress", Activity::compress},
                                              {"launch", Activity::launch},
                                              {"all_reduce", Activity::all_reduce},
                                              {"all_gather", Activity::all_gather},
                                              {"reduce_scatter", Activity::reduce_scatter},
                                              {"message", Activity::message},
                                              {"used_parameter_bitmap", Activity::used_parameter_bitmap},
                                              {"replicate", Activity::replicate},
                                              {"reduce", Activity::reduce},
                                              {"push", Activity::push},
                                              {"pull", Activity::pull},
                                              {"serve", Activity::serve},
                                              {"host_copy", Activity::host_copy},
                                              {"peer_copy", Activity::peer_copy}}};

constexpr double kSame = 1e-9;  // relative

}  // namespace

std::string_view activity_name(Activity activity) {
  return name_in(kActivityNames, activity);
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
