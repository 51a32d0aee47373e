#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/timeline_lanes.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostLanes = 20;
constexpr double kLane = 30;         // px from one to the next
constexpr double kHalfLane = 0.36;   // of that
constexpr double kInvisible = 6e-5;  // of the step: spans of a kind that are closer are drawn as one
constexpr std::size_t kLongestName = 40;

struct Kind {
  const char* title;
  const char* colour;
};
// The last two in turns, so that one collective ends where the next begins.
constexpr std::array<Kind, 7> kKinds{{{"forward", "#56B4E9"},
                                      {"backward", "#0072B2"},
                                      {"optimizer", "#009E73"},
                                      {"copies, hooks, launches", "#999999"},
                                      {"waits", "#F3C3A0"},
                                      {"collectives, by bucket", "#CC79A7"},
                                      {"", "#E3B3CE"}}};
constexpr std::size_t kOther = 3, kCollective = 5;

std::size_t kind_of(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return 0;
    case Activity::backward:
      return 1;
    case Activity::optimizer:
      return 2;
    case Activity::wait:
    case Activity::broadcast:  // on the compute lane the wait for it
      return 4;
    default:
      return kOther;
  }
}

struct Lane {
  std::string name;
  std::vector<Span> spans;  // one after another
  bool communicates = true;
};

void add_lanes(const char* name, const std::vector<Span>& spans, std::vector<Lane>& lanes) {
  auto first = lanes.size();
  auto places = lanes_of(spans);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    auto place = first + static_cast<std::size_t>(places[i]);
    if (place == lanes.size()) lanes.push_back({name, {}});
    lanes[place].spans.push_back(spans[i]);
  }
}

// Without what follows the number of ranks where that is too long.
std::string lane_name(const RankTimeline& ranks, bool in_pipeline) {
  auto name = class_name(ranks, in_pipeline);
  auto comma = name.rfind(", ");
  return name.size() <= kLongestName || comma == std::string::npos ? name : name.substr(0, comma) + ")";
}

// Messages from stage to stage have lanes of their own.
std::vector<Lane> lanes_of(const RankTimeline& ranks, bool in_pipeline) {
  std::vector<Span> messages, collectives;
  for (const auto& span : ranks.communication)
    (span.activity == Activity::message ? messages : collectives).push_back(span);
  std::vector<Lane> lanes{{lane_name(ranks, in_pipeline), ranks.compute, false}};
  add_lanes("messages", messages, lanes);
  add_lanes(messages.empty() ? "communication" : "collectives", collectives, lanes);
  return lanes;
}

// Of the last to finish, and of as many others as there is room for, in their order.
std::pair<std::vector<Lane>, std::size_t> shown_lanes(const Timeline& timeline) {
  bool in_pipeline = std::any_of(timeline.rank_classes.begin(), timeline.rank_classes.end(),
                                 [](const RankTimeline& ranks) { return ranks.stage > 0; });
  const auto* last = &timeline.last_to_finish();
  auto room = kMostLanes - std::min(kMostLanes, lanes_of(*last, in_pipeline).size());
  std::pair<std::vector<Lane>, std::size_t> shown;
  for (const auto& ranks : timeline.rank_classes) {
    auto lanes = lanes_of(ranks, in_pipeline);
    if (&ranks != last) {
      if (lanes.size() > room) continue;
      room -= lanes.size();
    }
    shown.first.insert(shown.first.end(), lanes.begin(), lanes.end());
    ++shown.second;
  }
  return shown;
}

// Boxes by kind, and numbers in them.
class Boxes {
 public:
  Boxes(const TimeScale& scale, Seconds zero, double length, Chart& chart)
      : scale_(scale), zero_(zero), length_(length), chart_(chart) {}

  void add(const Lane& lane) {
    auto row = -static_cast<double>(chart_.y.tics.size());
    chart_.y.tics.push_back({row, shortened(lane.name, kLongestName)});
    std::array<std::optional<double>, kKinds.size()> ends;  // of a kind's last box in this lane
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      const auto& span = lane.spans[i];
      auto kind = lane.communicates ? kCollective + i % 2 : kind_of(span.activity);
      auto begin = scale_.value(span.start - zero_), end = scale_.value(span.end - zero_);
      if (lane.communicates)
        chart_.texts.push_back(
            {(begin + end) / 2, row, fmt::format("{}", span.index), "#222222", 0, end - begin});
      auto& boxes = boxes_.at(kind);
      if (ends.at(kind) && begin - *ends.at(kind) < kInvisible * length_)
        boxes.back().right = end;
      else if (end > begin)
        boxes.push_back({begin, row, row - kHalfLane, row + kHalfLane, begin, end});
      if (end > begin) ends.at(kind) = end;
    }
  }

  void finish() {
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
      if (!boxes_.at(kind).empty())
        chart_.series.push_back(
            {kKinds.at(kind).title, Shape::boxes, {kKinds.at(kind).colour}, std::move(boxes_.at(kind))});
  }

 private:
  TimeScale scale_;
  Seconds zero_;
  double length_;
  Chart& chart_;
  std::array<std::vector<ChartPoint>, kKinds.size()> boxes_;
};

}  // namespace

Chart gantt_chart(const Timeline& timeline, const IterationMetrics& metrics, const std::string& name) {
  DDPSIM_CHECK(!timeline.rank_classes.empty(), "a timeline has at least one rank");
  auto zero = earliest(timeline);
  Seconds length;
  for (const auto& ranks : timeline.rank_classes)
    for (const auto* spans : {&ranks.compute, &ranks.communication})
      for (const auto& span : *spans) length = std::max(length, span.end - zero);
  auto scale = TimeScale::for_longest(length);
  auto [lanes, shown] = shown_lanes(timeline);
  std::vector<std::string> notes;
  if (shown < timeline.rank_classes.size())
    notes.push_back(fmt::format("{} of {} kinds of ranks", shown, timeline.rank_classes.size()));
  if (metrics.trace_synthetic) notes.push_back("trace: " + *metrics.trace_synthetic);
  Chart chart{fmt::format("{}: {} a step, {} of it exposed communication", name,
                          scale.text(metrics.iteration), scale.text(metrics.exposed_communication)),
              fmt::format("{}", fmt::join(notes, "; "))};
  chart.height = kLane * static_cast<double>(lanes.size());
  chart.x = {fmt::format("time ({})", scale.unit), 0, scale.value(length)};
  chart.y = {"", 0.5 - static_cast<double>(lanes.size()), 0.5};
  chart.y.has_names = true;
  Boxes boxes(scale, zero, chart.x.highest, chart);
  for (const auto& lane : lanes) boxes.add(lane);
  boxes.finish();
  return chart;
}

}  // namespace ddpsim
