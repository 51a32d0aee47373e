#include "sim/report/gantt_plot.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/plot.hpp"
#include "sim/report/timeline_lanes.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostLanes = 20;
constexpr double kHalfLane = 0.36;   // of the distance between two
constexpr double kInvisible = 0.05;  // px: spans of a kind that are closer are drawn as one
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

struct Box {
  double begin, end;
};

// Lanes from the top down, and boxes and numbers in them.
class Chart {
 public:
  Chart(const Timeline& timeline, const TimeScale& scale, const PlotAxis& x)
      : scale_(scale), x_(x), zero_(earliest(timeline)) {}

  void add_compute(const std::string& name, const std::vector<Span>& spans) {
    std::array<std::vector<Box>, kKinds.size()> boxes;
    for (const auto& span : spans) boxes.at(kind_of(span.activity)).push_back(box_of(span));
    add_lane(name, boxes);
  }

  void add_communication(const std::string& name, const std::vector<Span>& spans) {
    std::array<std::vector<Box>, kKinds.size()> boxes;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      auto box = box_of(spans[i]);
      boxes.at(kCollective + i % 2).push_back(box);
      auto number = fmt::format("{}", spans[i].index);
      if (x_.pixel(box.end) - x_.pixel(box.begin) > text_width(number))
        numbers_ += fmt::format("{:.9g} {} \"{}\"\n", (box.begin + box.end) / 2, -lanes(), number);
    }
    add_lane(name, boxes);
  }

  [[nodiscard]] int lanes() const { return static_cast<int>(names_.size()); }
  [[nodiscard]] const std::vector<AxisTic>& names() const { return names_; }

  [[nodiscard]] std::vector<std::string> titles() const {
    std::vector<std::string> titles;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
      if (!rows_.at(kind).empty() && *kKinds.at(kind).title != '\0')
        titles.emplace_back(kKinds.at(kind).title);
    return titles;
  }

  [[nodiscard]] std::string text() const {
    std::string data;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      const auto& kind = kKinds.at(i);
      if (rows_.at(i).empty()) continue;
      data += fmt::format("$kind{} << EOD\n{}EOD\n", i, rows_.at(i));
      parts.push_back(fmt::format(
          "$kind{} using 1:2:3:4:5:6 with boxxyerror fillstyle solid noborder fillcolor rgb '{}' linewidth 0 "
          "{}",
          i, kind.colour, *kind.title == '\0' ? "notitle" : "title " + gnuplot_string(kind.title)));
    }
    if (!numbers_.empty()) {
      data += fmt::format("$numbers << EOD\n{}EOD\n", numbers_);
      parts.emplace_back("$numbers using 1:2:3 with labels center textcolor rgb '#222222' notitle");
    }
    return fmt::format("{}plot {}\n", data, fmt::join(parts, ", \\\n     "));
  }

 private:
  [[nodiscard]] Box box_of(const Span& span) const {
    return {scale_.value(span.start - zero_), scale_.value(span.end - zero_)};
  }

  void add_lane(const std::string& name, const std::array<std::vector<Box>, kKinds.size()>& boxes) {
    double row = -lanes();
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      auto unite = [&](const std::vector<Box>& all) {
        std::vector<Box> united;
        for (const auto& box : all)
          if (!united.empty() && x_.pixel(box.begin) - x_.pixel(united.back().end) < kInvisible)
            united.back().end = box.end;
          else
            united.push_back(box);
        return united;
      };
      for (const auto& box : unite(boxes.at(kind)))
        if (box.end > box.begin)
          rows_.at(kind) += fmt::format("{:.9g} {} {:.9g} {:.9g} {:.6g} {:.6g}\n", box.begin, row, box.begin,
                                        box.end, row - kHalfLane, row + kHalfLane);
    }
    names_.push_back({row, shortened(name, kLongestName)});
  }

  TimeScale scale_;
  PlotAxis x_;
  Seconds zero_;
  std::vector<AxisTic> names_;
  std::array<std::string, kKinds.size()> rows_;
  std::string numbers_;
};

// Without what follows the number of ranks where that is too long.
std::string lane_name(const RankTimeline& ranks, bool in_pipeline) {
  auto name = class_name(ranks, in_pipeline);
  auto comma = name.rfind(", ");
  return name.size() <= kLongestName || comma == std::string::npos ? name : name.substr(0, comma) + ")";
}

struct Lane {
  const char* name;
  std::vector<Span> spans;  // one after another
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

// Messages from stage to stage have lanes of their own.
std::vector<Lane> by_lane(const std::vector<Span>& spans) {
  std::vector<Span> messages, collectives;
  for (const auto& span : spans)
    (span.activity == Activity::message ? messages : collectives).push_back(span);
  std::vector<Lane> lanes;
  add_lanes("messages", messages, lanes);
  add_lanes(messages.empty() ? "communication" : "collectives", collectives, lanes);
  return lanes;
}

// The last to finish, and of the others as many as there is room for, in their order.
std::vector<const RankTimeline*> shown_classes(const Timeline& timeline) {
  auto lanes = [](const RankTimeline& ranks) { return 1 + by_lane(ranks.communication).size(); };
  const auto* last = &timeline.last_to_finish();
  std::size_t room = kMostLanes - std::min(kMostLanes, lanes(*last));
  std::vector<const RankTimeline*> shown;
  for (const auto& ranks : timeline.rank_classes) {
    if (&ranks == last) {
      shown.push_back(last);
    } else if (auto needed = lanes(ranks); needed <= room) {
      room -= needed;
      shown.push_back(&ranks);
    }
  }
  return shown;
}

std::string note_of(const Timeline& timeline, std::size_t shown,
                    const std::optional<std::string>& synthetic) {
  std::vector<std::string> notes;
  if (shown < timeline.rank_classes.size())
    notes.push_back(fmt::format("{} of {} kinds of ranks", shown, timeline.rank_classes.size()));
  if (synthetic) notes.push_back("trace: " + *synthetic);
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace

std::string gantt_plot_script(const Timeline& timeline, const IterationMetrics& metrics,
                              const std::string& name, PlotFormat format) {
  DDPSIM_CHECK(!timeline.rank_classes.empty(), "a timeline has at least one rank");
  auto zero = earliest(timeline);
  Seconds length;
  for (const auto& ranks : timeline.rank_classes)
    for (const auto* lane : {&ranks.compute, &ranks.communication})
      for (const auto& span : *lane) length = std::max(length, span.end - zero);
  auto scale = TimeScale::for_longest(length);
  auto shown = shown_classes(timeline);
  bool in_pipeline = std::any_of(timeline.rank_classes.begin(), timeline.rank_classes.end(),
                                 [](const RankTimeline& ranks) { return ranks.stage > 0; });
  Margins margins;
  margins.left = 20 + kCharacterWidth * kLongestName;
  PlotAxis x{0, scale.value(length), false, margins.left, kCanvasWidth - margins.right};
  Chart chart(timeline, scale, x);
  for (const auto* ranks : shown) {
    chart.add_compute(lane_name(*ranks, in_pipeline), ranks->compute);
    for (const auto& lane : by_lane(ranks->communication)) chart.add_communication(lane.name, lane.spans);
  }
  auto legend = legend_for("", chart.titles());
  PlotTitles titles{fmt::format("{}: {} a step, {} of it exposed communication", name,
                                scale.text(metrics.iteration), scale.text(metrics.exposed_communication)),
                    fmt::format("time ({})", scale.unit), "",
                    note_of(timeline, shown.size(), metrics.trace_synthetic)};
  PlotAxis y{0.5 - chart.lanes(), 0.5, false, 0, 1};
  return canvas_settings(format, titles, margins, legend) + range_settings("x", x) + range_settings("y", y) +
         tic_settings("y", chart.names()) + "set ytics scale 0\nset grid noytics\n" + chart.text();
}

void write_gantt_plot(const Timeline& timeline, const IterationMetrics& metrics, const std::string& name,
                      const std::string& path) {
  write_whole_file(path,
                   run_program(gnuplot(), gantt_plot_script(timeline, metrics, name, plot_format(path))));
}

}  // namespace ddpsim
