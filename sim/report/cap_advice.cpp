#include "sim/report/cap_advice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/figures.hpp"
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

ShownTable cap_table(const SweepResult& result, const std::vector<CapAdvice>& advice) {
  ShownTable table;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
    if (result.axes[axis] != kBucketCapAxis)
      table.add(short_title(result.axes, result.axes[axis]), advice,
                [&](const CapAdvice& one) { return result.points[one.best].axis_values[axis]; });
  auto of_default = [](auto cell) {
    return [cell](const CapAdvice& one) { return one.with_default ? Cell(cell(*one.with_default)) : Cell(); };
  };
  table.add("bucket_cap_mb", advice, [&](const CapAdvice& one) {
    return one.default_is_as_good() ? "default" : cap_argument(result, one);
  });
  table.add("step", advice, &CapAdvice::iteration);
  table.add("default", advice,
            of_default([](const WithDefaultCap& usual) { return default_cap_text(usual); }), 2);
  table.add("default takes", advice, of_default([](const WithDefaultCap& usual) { return usual.iteration; }),
            1);
  table.add(
      "longer", advice,
      [](const CapAdvice& one) {
        return one.with_default ? Cell(one.with_default->iteration / one.iteration - 1) : Cell();
      },
      0, Form::change);
  table.add(
      "sure", advice,
      [](const CapAdvice& one) {
        bool is_known = one.with_default && one.with_default->odds;
        return is_known ? Cell(1 - one.with_default->odds->p_best) : Cell();
      },
      0, Form::share);
  table.add(
      "", advice, [](const CapAdvice& one) { return one.default_is_tied() ? "not told apart" : ""; }, 3,
      Form::plain, true);
  table.add(
      fmt::format("{} within {} %", caps_word(result.has_every_assignment), 100 * kPlateau), advice,
      [](const CapAdvice& one) {
        auto beyond = one.edge == CapAdvice::Edge::none       ? ""
                      : one.edge == CapAdvice::Edge::smallest ? ", the smallest swept"
                                                              : ", the largest swept";
        return plateau_text(one) + beyond;
      },
      4, Form::plain, true);
  return table;
}

std::string cap_argument(const SweepResult& result, const CapAdvice& advice) {
  auto round = result.round_caps.find(advice.best);
  return bucket_cap_mb(round == result.round_caps.end() ? advice.cap : round->second);
}

std::string cap_verdict(const SweepResult& result, const CapAdvice& advice) {
  const auto& usual = advice.with_default;
  auto time = likely_text(result.points[advice.best].metrics);
  if (!usual) return fmt::format("Fastest: bucket_cap_mb={}, {}.", cap_argument(result, advice), time);
  double gain = 1 - advice.iteration / usual->iteration;
  if (advice.is_within_plateau())
    return fmt::format("Keep the default, {}: no {} gains more than {:.1f} %.", default_cap_text(*usual),
                       result.has_every_assignment ? "cap" : "cap tried", std::max(100 * gain, 0.1));
  if (advice.default_is_tied())
    return fmt::format(
        "Keep the default, {}: it is not told apart from bucket_cap_mb={}, which gains {:.1f} %.",
        default_cap_text(*usual), cap_argument(result, advice), 100 * gain);
  return fmt::format("Worth {:.{}f} %: bucket_cap_mb={}. {} against {} with PyTorch's {}.", 100 * gain,
                     gain < 0.0995 ? 1 : 0, cap_argument(result, advice), time,
                     time_text(usual->iteration.value()), default_cap_text(*usual));
}

std::vector<std::string> advice_lines(const SweepResult& result, const CapAdvice& advice) {
  std::vector<std::string> lines;
  if (advice.with_default && advice.with_default->odds)
    lines.push_back(fmt::format("PyTorch's default: {}", longer_text(*advice.with_default->odds)));
  bool is_alone = advice.most && advice.as_good.size() == 1;
  lines.push_back(is_alone ? fmt::format("no other swept cap is within {} % of the best", 100 * kPlateau)
                           : fmt::format("{} within {} % of the best: {}", caps_word(advice.as_good.empty()),
                                         100 * kPlateau, plateau_text(advice)));
  if (advice.edge != CapAdvice::Edge::none) {
    bool smallest = advice.edge == CapAdvice::Edge::smallest;
    lines.push_back(fmt::format("the best is the {} cap of the sweep: a {} one may be better",
                                smallest ? "smallest" : "largest", smallest ? "smaller" : "larger"));
  }
  lines.push_back(advice.default_is_as_good()
                      ? "use it: DistributedDataParallel(model)"
                      : fmt::format("use it: DistributedDataParallel(model, bucket_cap_mb={})",
                                    cap_argument(result, advice)));
  return lines;
}

}  // namespace ddpsim
