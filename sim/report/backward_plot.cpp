#include "sim/report/backward_plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/bucket_table.hpp"
#include "sim/report/plot.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostTimes = 12;  // buckets whose moment is written beside their corner
constexpr double kNumberRow = 11;       // px from the plot up to the middle of the buckets' numbers
constexpr double kTick = 6;             // px of the mark of a bucket without a number
constexpr double kSameMoment = 1;       // px: marks closer than this are one
constexpr double kLabelMargin = 4;      // px of air around a moment
constexpr std::string_view kMarkStyle = "linewidth 1 dashtype 3 linecolor rgb '#999999'";
constexpr std::string_view kTickStyle = "linewidth 1 dashtype 1 linecolor rgb '#999999'";

// Bytes as the plot counts them.
struct ByteScale {
  double size = 1;
  std::string_view unit = "B";

  static ByteScale for_largest(Bytes bytes) {
    constexpr ByteScale kScales[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
    for (const auto& scale : kScales)
      if (bytes.value() >= scale.size) return scale;
    return {};
  }
  [[nodiscard]] double value(Bytes bytes) const { return bytes.value() / size; }
};

// Bytes there from a moment on.
struct Step {
  Seconds time;
  Bytes bytes;
};

std::vector<Step> arrival_of_gradients(const LayerTrace& trace) {
  std::vector<Step> steps;
  Bytes bytes;
  for (const auto& gradient : trace.gradients) {
    bytes += gradient.bytes();
    steps.push_back({gradient.ready, bytes});
  }
  return steps;
}

// A mark a moment at which buckets are complete, with the first and last of their numbers.
struct BucketMark {
  Step step;
  std::size_t first = 0, last = 0;

  [[nodiscard]] std::string numbers() const {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
};

// By time; buckets are complete in their order unless PyTorch keeps the order of registration.
std::vector<BucketMark> completions(const LayerTrace& trace, const ReductionPlan& plan) {
  auto times = bucket_ready_times(trace, plan);
  std::vector<BucketMark> marks;
  for (std::size_t i = 0; i < times.size(); ++i) marks.push_back({{times[i], plan.buckets[i].bytes}, i, i});
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a.step.time < b.step.time; });
  Bytes bytes;
  for (auto& mark : marks) {
    bytes += mark.step.bytes;
    mark.step.bytes = bytes;
  }
  return marks;
}

// Marks that would be drawn over one another become one, where their numbers follow each other.
std::vector<BucketMark> merged(const std::vector<BucketMark>& marks, const PlotAxis& x,
                               const TimeScale& scale) {
  std::vector<BucketMark> apart;
  for (const auto& mark : marks) {
    bool same =
        !apart.empty() && mark.first == apart.back().last + 1 &&
        x.pixel(scale.value(mark.step.time)) - x.pixel(scale.value(apart.back().step.time)) < kSameMoment;
    if (!same) {
      apart.push_back(mark);
      continue;
    }
    apart.back().last = mark.last;
    apart.back().step.bytes = mark.step.bytes;
  }
  return apart;
}

std::string title_of(const LayerTrace& trace, const ReductionPlan& plan) {
  std::string title = "Backward pass";
  if (trace.metadata.model) title += " of " + *trace.metadata.model;
  if (trace.metadata.device) title += " on " + *trace.metadata.device;
  return fmt::format("{}: {}", shortened(title, 60), describe_buckets(plan));
}

class BackwardScript {
 public:
  BackwardScript(const LayerTrace& trace, const ReductionPlan& plan, PlotFormat format)
      : format_(format), title_(title_of(trace, plan)), gradients_(arrival_of_gradients(trace)) {
    auto marks = completions(trace, plan);
    for (const auto& mark : marks) buckets_.push_back(mark.step);
    time_ = TimeScale::for_longest(trace.backward());
    bytes_ = ByteScale::for_largest(trace.bytes());
    if (auto mark = synthetic_mark(trace.metadata)) note_ = *mark;
    margins_.top = 64;  // the numbers stand between title and plot
    legend_ = legend_for("", {kReady, kComplete, kMarks});
    double longest = time_.value(trace.backward());
    x_ = {0, longest > 0 ? 1.03 * longest : 1, false, margins_.left, kCanvasWidth - margins_.right};
    y_ = {0, 1.08 * bytes_.value(trace.bytes()), false, margins_.bottom + legend_.height,
          kCanvasHeight - margins_.top};
    marks_ = merged(marks, x_, time_);
  }

  [[nodiscard]] std::string text() const {
    auto out =
        canvas_settings(format_,
                        {title_, fmt::format("time from the start of the backward pass ({})", time_.unit),
                         fmt::format("gradients ({})", bytes_.unit), note_},
                        margins_, legend_);
    out += range_settings("x", x_) + range_settings("y", y_);
    out += "set style fill solid 0.22 noborder\n";
    out += numbers() + moments();
    out += data_block("gradients", gradients_) + data_block("buckets", buckets_);
    std::vector<std::string> parts{
        fmt::format("$buckets using 1:2 with fillsteps linecolor rgb '{}' title '{}'", group_colour(4),
                    kComplete),
        fmt::format("$buckets using 1:2 with steps linewidth 1.4 linecolor rgb '{}' notitle",
                    group_colour(4)),
        fmt::format("$gradients using 1:2 with steps linewidth 2 linecolor rgb '{}' title '{}'",
                    group_colour(0), kReady),
        fmt::format("keyentry with lines {} title '{}'", kMarkStyle, kMarks)};
    return out + fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
  }

 private:
  static constexpr const char* kReady = "gradients ready";
  static constexpr const char* kComplete = "in complete buckets";
  static constexpr const char* kMarks = "bucket complete, its number above";

  [[nodiscard]] PixelPoint pixel(const Step& step) const {
    return {x_.pixel(time_.value(step.time)), y_.pixel(bytes_.value(step.bytes))};
  }

  // From the start of the pass to the right end of the picture.
  [[nodiscard]] std::string data_block(const std::string& name, const std::vector<Step>& steps) const {
    auto out = fmt::format("${} << EOD\n0 0\n", name);
    for (const auto& step : steps)
      out += fmt::format("{} {:.9g}\n", time_.number(step.time), bytes_.value(step.bytes));
    return out + fmt::format("{:.9g} {:.9g}\nEOD\n", x_.highest, bytes_.value(steps.back().bytes));
  }

  static std::string line(double x, double from, double to, std::string_view style) {
    return fmt::format("set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} nohead back {}\n",
                       x / kCanvasWidth, from / kCanvasHeight, x / kCanvasWidth, to / kCanvasHeight, style);
  }

  static std::string label(std::string_view text, PixelPoint place, std::string_view style) {
    return fmt::format("set label {} at screen {:.5f},{:.5f} {}\n", gnuplot_string(text),
                       place.x / kCanvasWidth, place.y / kCanvasHeight, style);
  }

  // The marks that are numbered: as many as there is room for, the last one in any case.
  [[nodiscard]] std::vector<AxisTic> numbered() const {
    std::vector<AxisTic> tics;
    for (const auto& mark : marks_) tics.push_back({time_.value(mark.step.time), mark.numbers()});
    auto last = tics.back();
    tics = without_crowding(x_, tics);
    auto left_of = [&](const AxisTic& tic) { return x_.pixel(tic.value) - text_width(tic.label) / 2; };
    if (tics.back().label == last.label) return tics;
    while (!tics.empty() && left_of(tics.back()) + text_width(tics.back().label) + 8 > left_of(last))
      tics.pop_back();
    tics.push_back(last);
    return tics;
  }

  // A line for each numbered mark, a short one for each of the others.
  [[nodiscard]] std::string numbers() const {
    auto tics = numbered();
    auto first = x_.pixel(tics.front().value) - text_width(tics.front().label) / 2;
    auto out = label("bucket", {std::min(x_.first_pixel - 12, first - 8), y_.last_pixel + kNumberRow},
                     "right textcolor rgb '#666666'");
    auto next = tics.begin();
    for (const auto& mark : marks_) {
      auto x = x_.pixel(time_.value(mark.step.time));
      bool is_numbered = next != tics.end() && next->label == mark.numbers();
      out += line(x, is_numbered ? y_.first_pixel : y_.last_pixel - kTick, y_.last_pixel,
                  is_numbered ? kMarkStyle : kTickStyle);
      if (!is_numbered) continue;
      out += label(next->label, {x, y_.last_pixel + kNumberRow}, "center textcolor rgb '#444444'");
      ++next;
    }
    return out;
  }

  // When few buckets are complete; of many only the first and the last.
  [[nodiscard]] std::string moments() const {
    LabelPlacement labels({x_.first_pixel, y_.first_pixel, x_.last_pixel, y_.last_pixel - 2});
    for (const auto* steps : {&gradients_, &buckets_}) labels.add_curve(stairs(*steps));
    bool few = marks_.size() <= kMostTimes;
    std::string out;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (!few && i > 0 && i + 1 < marks_.size()) continue;
      auto text = time_.text(marks_[i].step.time);
      if (!few) text = fmt::format("bucket {}: {}", marks_[i].numbers(), text);
      auto place = labels.place(pixel(marks_[i].step), text_width(text) + 2 * kLabelMargin, kTextHeight);
      if (!place) continue;
      out += label(text, {place->x + kLabelMargin, place->y + kTextHeight / 2},
                   fmt::format("left textcolor rgb '{}' front", kNeutralColour));
    }
    return out;
  }

  [[nodiscard]] std::vector<PixelPoint> stairs(const std::vector<Step>& steps) const {
    std::vector<PixelPoint> curve{pixel({})};
    for (const auto& step : steps) {
      curve.push_back({pixel(step).x, curve.back().y});
      curve.push_back(pixel(step));
    }
    curve.push_back({x_.last_pixel, curve.back().y});
    return curve;
  }

  PlotFormat format_;
  std::string title_, note_;
  std::vector<Step> gradients_, buckets_;  // bytes ready, bytes in complete buckets
  std::vector<BucketMark> marks_;
  TimeScale time_;
  ByteScale bytes_;
  Margins margins_;
  Legend legend_;
  PlotAxis x_, y_;
};

}  // namespace

std::string backward_plot_script(const LayerTrace& trace, const ReductionPlan& plan, PlotFormat format) {
  return BackwardScript(trace, plan, format).text();
}

void write_backward_plot(const LayerTrace& trace, const ReductionPlan& plan, const std::string& path) {
  write_whole_file(path, run_program(gnuplot(), backward_plot_script(trace, plan, plot_format(path))));
}

}  // namespace ddpsim
