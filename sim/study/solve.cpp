#include "sim/study/solve.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/plan_split.hpp"
#include "sim/study/point_runs.hpp"
#include "sim/study/simulate_once.hpp"

namespace ddpsim {
namespace {

using keys::Shape;

// Where a value is looked for, and how it is written.
struct Range {
  double least, most;
  std::string unit = {};
  bool is_whole = false;

  // As a scenario takes it.
  [[nodiscard]] std::string text(double value) const {
    return is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}{}", value, unit);
  }
  // With a prefix that suits it: "360MB/s".
  [[nodiscard]] std::string shown(double value) const {
    std::string text;
    if (unit == "FLOP/s") text = format_flops_rate(FlopsPerSecond(value));
    if (unit == "B/s") text = format_bandwidth(BytesPerSecond(value));
    if (unit == "B") text = format_bytes(Bytes(std::round(value)));
    if (unit == "s") text = format_seconds(Seconds(value));
    if (text.empty()) text = is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}{}", value, unit);
    std::erase(text, ' ');
    return text;
  }
};

// Of quantities what machines have, slow ones and those to come.
std::optional<Range> range_of(const Shape& shape) {
  if (shape.kind == Shape::Kind::quantity) {
    struct Known {
      std::string_view unit;
      double least, most;
    };
    // The first unit that ends the example.
    for (const auto& [unit, least, most] :
         {Known{"FLOP/s", 1e11, 1e17}, Known{"B/s", 1e6, 1e14}, Known{"iB", 1, 1e13}, Known{"%", 1e-3, 100},
          Known{"s", 1e-9, 100}})
      if (shape.example.ends_with(unit)) return Range{least, most, unit == "iB" ? "B" : std::string(unit)};
  }
  bool is_whole = shape.kind == Shape::Kind::integer;
  if (!is_whole && shape.kind != Shape::Kind::number) return std::nullopt;
  constexpr double kLeastNumber = 1e-3, kMostNumber = 1e6;
  return Range{std::max(shape.least.value_or(0), is_whole ? 1 : kLeastNumber),
               std::min(shape.most.value_or(kMostNumber), kMostNumber), "", is_whole};
}

Range range_of(const std::string& key) {
  check_axis(key, whole_file(make_source("--solve", key)));
  std::optional<Range> range;
  keys::each_row(job_table(), [&](const std::string& path, const keys::Row& row) {
    if (path == key)
      for (const auto& shape : row.codec->shapes())
        if (!range) range = range_of(shape);
  });
  if (!range)
    throw InputError(fmt::format("'{}' has no number to look for", key),
                     "--solve takes a key with a number or a quantity: cluster.nics.bandwidth");
  return *range;
}

struct Point {
  double value;
  Seconds time;
};

// Where an iteration passes a time: the logarithm of the value, after that point.
struct Crossing {
  double log;
  std::size_t after;
};

class ValueSearch {
 public:
  ValueSearch(Files& files, const config::Value& root, const std::string& key, Seconds measured)
      : files_(files), root_(root), key_(key), measured_(measured), range_(range_of(key)) {
    constexpr int kPoints = 48;
    double last = 0;
    for (int i = 0; i <= kPoints; ++i) {
      double value = range_.least * std::pow(range_.most / range_.least, static_cast<double>(i) / kPoints);
      if (range_.is_whole) value = std::round(value);
      if (value == last) continue;
      last = value;
      add(value);
      // What is far beyond takes long to simulate.
      constexpr std::size_t kFurther = 4;
      if (auto found = crossings_of(measured_);
          range_.is_whole && !found.empty() && points_.size() > found.front().after + kFurther)
        break;
    }
    if (points_.empty()) throw *refusal_;
  }

  Solved solved() {
    auto crossings = crossings_of(measured_);
    if (crossings.empty()) throw nothing_gives_it();
    double value = refined(crossings.front());
    auto shown = range_.shown(value);
    Solved found{shown, "", "", iteration(shown), static_cast<int>(crossings.size()) - 1};
    find_interval(value, found);
    return found;
  }

 private:
  [[nodiscard]] Scenario scenario(const std::string& text) const {
    return resolve(files_, with_settings(root_, {{key_, text}}));
  }
  [[nodiscard]] Seconds iteration(const std::string& text) const {
    return simulate_once(scenario(text)).metrics.iteration;
  }

  void add(double value) {
    try {
      points_.push_back({value, iteration(range_.text(value))});
    } catch (const InputError& error) {
      if (!refusal_) refusal_ = error;
    }
  }

  [[nodiscard]] std::vector<Crossing> crossings_of(Seconds time) const {
    std::vector<Crossing> found;
    for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
      // Straight between logarithms: what grows with a power of the value is.
      double before = std::log(points_[i].time / time), after = std::log(points_[i + 1].time / time);
      bool passes = before <= 0 ? after > 0 : after <= 0;
      if (!passes) continue;
      double low = std::log(points_[i].value), high = std::log(points_[i + 1].value);
      found.push_back({low + (high - low) * (before / (before - after)), i});
    }
    return found;
  }

  // Between the two points about a crossing, where values are not whole: where it jumps, the side that is
  // nearer.
  [[nodiscard]] double refined(const Crossing& crossing) const {
    if (range_.is_whole) return std::round(std::exp(crossing.log));
    auto low = points_[crossing.after], high = points_[crossing.after + 1];
    bool falls = low.time > high.time;
    constexpr int kHalvings = 24;
    for (int i = 0; i < kHalvings; ++i) {
      double value = std::sqrt(low.value * high.value);
      auto time = iteration(range_.text(value));
      ((time > measured_) == falls ? low : high) = {value, time};
    }
    auto away = [&](const Point& point) { return std::abs(std::log(point.time / measured_)); };
    return away(low) < away(high) ? low.value : high.value;
  }

  // Each draw of all else needs another value.
  void find_interval(double value, Solved& found) const {
    auto solved = scenario(found.value);
    if (key_.starts_with("cluster.") || key_.starts_with("collective."))
      std::erase_if(solved.doubts, [](const Doubt& one) { return one.of->of == Subject::network; });
    auto metrics = simulate_once(solved).metrics;
    if (!metrics.uncertainty) return;
    std::vector<Seconds> values;  // logarithms of them, above zero
    constexpr double kAbove = 100;
    for (auto time : metrics.uncertainty->times()) {
      auto wanted = measured_ * (metrics.iteration / time);
      auto crossings = crossings_of(wanted);
      auto nearest = std::ranges::min_element(
          crossings, {}, [&](const Crossing& one) { return std::abs(one.log - std::log(value)); });
      bool beyond_most = std::abs((points_.back().time - wanted).value()) <
                         std::abs((points_.front().time - wanted).value());
      double end = std::log(beyond_most ? points_.back().value : points_.front().value);
      values.emplace_back(kAbove + (nearest == crossings.end() ? end : nearest->log));
    }
    auto [least, most] = interval_of(values, kLikely);
    found.least = range_.shown(std::min(value, std::exp(least.value() - kAbove)));
    found.most = range_.shown(std::max(value, std::exp(most.value() - kAbove)));
  }

  [[nodiscard]] InputError nothing_gives_it() const {
    auto [fastest, slowest] = std::ranges::minmax_element(points_, {}, &Point::time);
    constexpr double kRounding = 1e-9;
    if (slowest->time <= (1 + kRounding) * fastest->time)
      return InputError(
          fmt::format("{} does not change this step: it takes {}", key_, format_seconds(fastest->time)),
          "something else makes the difference");
    return InputError(
        fmt::format("no {} from {} to {} gives {}: the scenario takes {} to {}", key_,
                    range_.shown(points_.front().value), range_.shown(points_.back().value),
                    format_seconds(measured_), format_seconds(fastest->time), format_seconds(slowest->time)),
        "something else makes the difference");
  }

  Files& files_;
  const config::Value& root_;
  std::string key_;
  Seconds measured_;
  Range range_;
  std::vector<Point> points_;  // by value
  std::optional<InputError> refusal_;
};

}  // namespace

Solved solve(Files& files, const config::Value& root, const std::string& key, Seconds measured) {
  return ValueSearch(files, root, key, measured).solved();
}

}  // namespace ddpsim
