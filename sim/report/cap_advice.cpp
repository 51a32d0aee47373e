#include "sim/report/cap_advice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostListed = 8;

// Between caps that were tried others may be longer, or better.
std::string_view caps_word(bool has_every_assignment) {
  return has_every_assignment ? "caps" : "swept caps";
}

CapAdvice advice_of(const SweepResult& result, const SweepGroup& group, std::size_t best) {
  const auto& metrics = result.points[best].metrics;
  auto cap_of = [&](std::size_t point) { return *result.points[point].metrics.bucket_cap; };
  auto points = group.points;
  std::erase_if(points, [&](std::size_t point) { return !result.points[point].metrics.bucket_cap; });
  std::stable_sort(points.begin(), points.end(), [&](auto a, auto b) { return cap_of(a) < cap_of(b); });
  auto is_as_good = [&](std::size_t point) {
    return result.points[point].metrics.iteration <= metrics.iteration * (1 + kPlateau);
  };
  auto [first, last] =
      plateau_around(std::find(points.begin(), points.end(), best), points.begin(), points.end(), is_as_good);

  CapAdvice advice{group.name, best, *metrics.bucket_cap, metrics.iteration, cap_of(*first), cap_of(*last)};
  advice.caps_tried = points.size();
  if (!result.has_every_assignment)
    for (auto point : points)
      if (is_as_good(point)) advice.as_good.push_back(cap_of(point));
  // No cap larger than that of a single bucket makes other buckets.
  bool all_in_one = result.points[*last].metrics.n_buckets == 1;
  if (last + 1 == points.end()) {
    if (all_in_one || result.has_every_assignment) advice.most.reset();
  } else if (result.has_every_assignment) {
    advice.most = cap_of(*(last + 1)) - Bytes(1);
  }
  if (!result.has_every_assignment && points.size() > 1) {
    if (points.back() == best && !all_in_one) advice.edge = CapAdvice::Edge::largest;
    if (points.front() == best) advice.edge = CapAdvice::Edge::smallest;
  }
  if (auto found = result.with_default.find(best); found != result.with_default.end())
    advice.with_default = found->second;
  return advice;
}

bool has_odds_of_defaults(const SweepResult& result) {
  return std::ranges::any_of(result.with_default,
                             [](const auto& one) { return one.second.odds.has_value(); });
}

}  // namespace

std::vector<CapAdvice> cap_advice(const SweepResult& result) {
  std::vector<CapAdvice> all;
  auto axis = result.find_axis(kBucketCapAxis);
  if (!axis) return all;
  for (const auto& group : result.groups(axis)) {
    auto best = result.best_of(group.points);
    const auto& metrics = result.points[best].metrics;
    if (metrics.strategy->traits.is_ddp && metrics.bucket_cap) all.push_back(advice_of(result, group, best));
  }
  return all;
}

std::string bucket_cap_mb(Bytes cap) {
  for (double parts = 1; parts <= 1e6; parts *= 10) {
    double mb = std::ceil(cap.value() / 0x1p20 * parts) / parts;
    if (std::floor(mb * 0x1p20) == cap.value()) return fmt::format("{:.10g}", mb);
  }
  return fmt::format("{}", cap.value() / 0x1p20);
}

std::string plateau_text(const CapAdvice& advice) {
  auto least = format_bytes(advice.least);
  auto beyond = advice.most ? "" : " and above";
  if (advice.as_good.empty())
    return advice.most && format_bytes(*advice.most) != least
               ? fmt::format("{} to {}", least, format_bytes(*advice.most))
               : least + beyond;
  if (advice.as_good.size() > kMostListed)
    return fmt::format("{} of {} from {} to {}{}", advice.as_good.size(), advice.caps_tried,
                       format_bytes(advice.as_good.front()), format_bytes(advice.as_good.back()), beyond);
  std::vector<std::string> caps;
  for (auto cap : advice.as_good) caps.push_back(format_bytes(cap));
  return fmt::format("{}{}", fmt::join(caps, ", "), beyond);
}

std::string default_cap_text(const WithDefaultCap& usual) {
  return format_bytes(usual.cap) +
         (usual.first ? fmt::format(" (first {})", format_bytes(*usual.first)) : "");
}

std::string longer_text(const Odds& of_default) {
  return fmt::format("{:.0f} % sure that it takes longer, {:.1f} % on average", 100 * (1 - of_default.p_best),
                     100 * of_default.regret);
}

std::vector<std::string> cap_titles(const SweepResult& result) {
  std::vector<std::string> titles;
  for (const auto& axis : result.axes)
    if (axis != kBucketCapAxis) titles.push_back(axis);
  for (auto title : {"bucket_cap_mb", "iteration ms"}) titles.emplace_back(title);
  titles.push_back(fmt::format("{} within {} %", caps_word(result.has_every_assignment), 100 * kPlateau));
  for (auto title : {"PyTorch's default", "iteration ms", "longer"}) titles.emplace_back(title);
  if (has_odds_of_defaults(result)) titles.emplace_back("sure");
  return titles;
}

std::vector<std::string> cap_cells(const SweepResult& result, const CapAdvice& advice) {
  std::vector<std::string> cells;
  const auto& point = result.points[advice.best];
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
    if (result.axes[axis] != kBucketCapAxis) cells.push_back(point.axis_values[axis]);
  cells.push_back(bucket_cap_mb(advice.cap));
  cells.push_back(ms_text(advice.iteration));
  auto beyond = advice.edge == CapAdvice::Edge::none       ? ""
                : advice.edge == CapAdvice::Edge::smallest ? ", the smallest swept"
                                                           : ", the largest swept";
  cells.push_back(plateau_text(advice) + beyond);
  const auto& usual = advice.with_default;
  cells.push_back(usual ? default_cap_text(*usual) : "-");
  cells.push_back(usual ? ms_text(usual->iteration) : "-");
  cells.push_back(usual ? percent_text(usual->iteration / advice.iteration - 1) : "-");
  if (has_odds_of_defaults(result))
    cells.push_back(usual && usual->odds ? fmt::format("{:.0f} %{}", 100 * (1 - usual->odds->p_best),
                                                       advice.default_is_tied() ? ", not told apart" : "")
                                         : "-");
  return cells;
}

std::vector<std::string> advice_lines(const CapAdvice& advice) {
  std::vector<std::string> lines;
  bool is_alone = advice.most && advice.as_good.size() == 1;
  lines.push_back(is_alone ? fmt::format("no other swept cap is within {} % of the best", 100 * kPlateau)
                           : fmt::format("{} within {} % of the best: {}", caps_word(advice.as_good.empty()),
                                         100 * kPlateau, plateau_text(advice)));
  if (advice.edge != CapAdvice::Edge::none) {
    bool smallest = advice.edge == CapAdvice::Edge::smallest;
    lines.push_back(fmt::format("the best is the {} cap of the sweep: a {} one may be better",
                                smallest ? "smallest" : "largest", smallest ? "smaller" : "larger"));
  }
  if (const auto& usual = advice.with_default) {
    auto longer = usual->iteration - advice.iteration;
    lines.push_back(fmt::format(
        "PyTorch's default, {}: {:+.3f} ms ({:+.1f} %){}{}{}", default_cap_text(*usual), longer.value() * 1e3,
        100 * (longer / advice.iteration), usual->odds ? ", " + longer_text(*usual->odds) : "",
        advice.default_is_tied() ? ": not told apart" : "",
        advice.default_is_as_good() ? ", so no bucket_cap_mb is needed" : ""));
  }
  lines.push_back(advice.default_is_as_good()
                      ? "to use it: DistributedDataParallel(model)"
                      : fmt::format("to use it: DistributedDataParallel(model, bucket_cap_mb={})",
                                    bucket_cap_mb(advice.cap)));
  return lines;
}

}  // namespace ddpsim
