#include <algorithm>

#include <fmt/format.h>

#include "sim/report/bucket_table.hpp"
#include "sim/report/charts.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostTimes = 12;   // buckets whose moment is written beside their corner
constexpr std::size_t kMostLines = 40;   // buckets whose mark is a whole line
constexpr double kTick = 0.015;          // of the picture's height: the mark of each of many buckets
constexpr double kSameMoment = 0.00125;  // of its width: marks closer than this are one

struct ByteScale {
  double size = 1;
  std::string_view unit = "B";
};

ByteScale scale_of(Bytes bytes) {
  constexpr ByteScale kScales[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
  for (const auto& scale : kScales)
    if (bytes.value() >= scale.size) return scale;
  return {};
}

// Buckets that are complete at one moment, by their first and last numbers, and the bytes complete by then.
struct Completion {
  Seconds time;
  Bytes bytes;
  std::size_t first = 0, last = 0;

  [[nodiscard]] std::string numbers() const {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
};

// By time; buckets are complete in their order unless PyTorch keeps the order of registration.
std::vector<Completion> completions(const LayerTrace& trace, const ReductionPlan& plan) {
  auto times = bucket_ready_times(trace, plan);
  std::vector<Completion> all;
  for (std::size_t i = 0; i < times.size(); ++i) all.push_back({times[i], plan.buckets[i].bytes, i, i});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  for (std::size_t i = 1; i < all.size(); ++i) all[i].bytes += all[i - 1].bytes;
  return all;
}

// Those that would be drawn over one another become one, where their numbers follow each other.
std::vector<Completion> merged(const std::vector<Completion>& all, Seconds shown) {
  std::vector<Completion> apart;
  for (const auto& one : all)
    if (!apart.empty() && one.first == apart.back().last + 1 &&
        one.time - apart.back().time <= kSameMoment * shown) {
      apart.back().last = one.last;
      apart.back().bytes = one.bytes;
    } else {
      apart.push_back(one);
    }
  return apart;
}

// More and more bytes, from the start of the pass to the right end of the picture.
class Stairs {
 public:
  void add(double time, double bytes) {
    points_.push_back({time, points_.back().y, 0, points_.back().y});
    points_.push_back({time, bytes, 0, bytes});
  }
  [[nodiscard]] std::vector<ChartPoint> until(double time) {
    add(time, points_.back().y);
    return points_;
  }

 private:
  std::vector<ChartPoint> points_{{}};
};

std::string title_of(const LayerTrace& trace, const ReductionPlan& plan) {
  std::string title = "Backward pass";
  if (trace.metadata.model) title += " of " + *trace.metadata.model;
  if (trace.metadata.device) title += " on " + *trace.metadata.device;
  return fmt::format("{}: {}", shortened(title, 60), describe_buckets(plan));
}

void add_marks(const std::vector<Completion>& marks, const TimeScale& time, const ByteScale& bytes,
               Chart& chart) {
  auto few = marks.size() <= kMostTimes;
  auto whole = marks.size() <= kMostLines;
  auto top = chart.y.highest, foot = whole ? 0 : (1 - kTick) * top;
  Series lines{"bucket complete, its number above", Shape::upright, {"#999999", 1, whole ? "2 3" : ""}};
  for (const auto& mark : marks) {
    auto x = time.value(mark.time);
    lines.points.push_back({x, foot, foot, top});
    chart.texts.push_back({x, top, mark.numbers(), "#444444", 9});
    bool is_end = &mark == &marks.front() || &mark == &marks.back();
    auto text = time.text(mark.time);
    if (!few) text = fmt::format("bucket {}: {}", mark.numbers(), text);
    if (few || is_end) chart.labels.push_back({x, mark.bytes.value() / bytes.size, text, kNeutralColour});
  }
  std::rotate(chart.texts.begin(), chart.texts.end() - 1, chart.texts.end());  // the last is there always
  chart.series.push_back(std::move(lines));
}

}  // namespace

Chart backward_chart(const LayerTrace& trace, const ReductionPlan& plan) {
  auto time = TimeScale::for_longest(trace.backward());
  auto bytes = scale_of(trace.bytes());
  double longest = time.value(trace.backward()), all = trace.bytes().value() / bytes.size;
  Chart chart{title_of(trace, plan), synthetic_mark(trace.metadata).value_or("")};
  chart.x = {fmt::format("time from the start of the backward pass ({})", time.unit), 0,
             longest > 0 ? 1.03 * longest : 1};
  chart.y = {fmt::format("gradients ({})", bytes.unit), 0, 1.08 * all};
  Stairs ready, complete;
  Bytes sum;
  for (const auto& gradient : trace.gradients) {
    sum += gradient.bytes();
    ready.add(time.value(gradient.ready), sum.value() / bytes.size);
  }
  auto buckets = completions(trace, plan);
  for (const auto& one : buckets) complete.add(time.value(one.time), one.bytes.value() / bytes.size);
  auto stairs = complete.until(chart.x.highest);
  auto orange = group_style(4, 1.4);
  chart.series = {{"in complete buckets", Shape::band, orange, stairs},
                  {"", Shape::line, orange, stairs},
                  {"gradients ready", Shape::line, group_style(0), ready.until(chart.x.highest)}};
  add_marks(merged(buckets, 1.03 * trace.backward()), time, bytes, chart);
  return chart;
}

}  // namespace ddpsim
