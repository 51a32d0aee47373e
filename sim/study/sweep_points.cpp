#include "sim/study/sweep_points.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/resolve/sections.hpp"

namespace ddpsim {
namespace {

// Of the scenario, or its section that the axis is in.
std::string_view key_of(const config::SweepAxis& axis) {
  return std::string_view(axis.key).substr(0, axis.key.find('.'));
}

// As it is in `from`: an axis may be within another one's values.
void put_back(config::Value& root, const config::Value& from, std::string_view key) {
  const auto* entry = from.find(key);
  if (entry)
    *root.find(key) = *entry;
  else
    std::erase_if(root.entries, [&](const config::Entry& one) { return one.key == key; });
}

// One file of measurements belongs to the whole sweep.
void check_axes(const std::vector<config::SweepAxis>& axes) {
  for (const auto& axis : axes)
    if (axis.key.starts_with("validation."))
      throw InputError(axis.span, fmt::format("'{}' cannot be swept", axis.key),
                       "name one file; its rows are matched to the points");
}

std::vector<AxisValues> as_written(const std::vector<config::SweepAxis>& axes) {
  std::vector<AxisValues> all;
  for (const auto& axis : axes) {
    auto& written = all.emplace_back(AxisValues{axis.key, {}});
    for (const auto& value : axis.values) written.values.push_back(text_of(value));
  }
  return all;
}

// A point of the sweep before there is its scenario to point to.
struct PointOfGroup {
  std::size_t scenario;
  std::optional<Bytes> cap;  // in place of its own
};

void add_points(const std::vector<PointOfGroup>& points, SweepPlan& plan) {
  plan.points.reserve(points.size());
  for (const auto& [scenario, cap] : points) plan.points.push_back({&plan.scenarios[scenario], cap});
}

// The cap with which a point is a variant of another one; none where it is not, or not a cap: reading it says
// what is wrong with it.
std::optional<Bytes> cap_of_variant(const config::Value& value, const Scenario& base) {
  if (!base.is(&StrategyTraits::is_ddp) || !base.ddp.bucket_cap || base.parallel) return std::nullopt;
  auto options = base.ddp;
  try {
    options.bucket_cap = config::as_bytes(value);
    check_options(options);
  } catch (const InputError&) {
    return std::nullopt;
  }
  return options.bucket_cap;
}

void add_exact_caps(const GivenJob& given, const std::vector<std::string>& values, Files& files,
                    SweepPlan& plan, std::vector<PointOfGroup>& caps) {
  Scenario first = resolve(files, given);
  if (first.parallel)
    throw InputError("--exact-optimum knows nothing of models that GPUs share",
                     "sweep ddp.bucket_cap over a list of caps");
  if (!first.is(&StrategyTraits::is_ddp) || !first.ddp.bucket_caps.empty())
    throw InputError("--exact-optimum looks for the best ddp.bucket_cap, which this scenario does not use",
                     "set strategy: ddp and remove ddp.bucket_caps");
  if (!first.plan.bucket_cap)
    throw InputError(
        "no bucket cap applies in the first iteration, so --exact-optimum has nothing to look for",
        "use ddp.iteration: steady");
  KnownBuckets known;
  for_each_distinct_bucket_cap(*first.trace, first.ddp, [&](Bytes cap) {
    if (caps.size() == kMostSweepPoints)
      throw InputError(
          fmt::format("--exact-optimum finds more than {} bucket assignments to try", kMostSweepPoints),
          "sweep over a list of ddp.bucket_cap instead, or over fewer values of the other axes");
    plan.same_as.push_back(known.first_with(caps.size(), first.plan, first.ddp, cap));
    caps.push_back({plan.scenarios.size(), cap});
    plan.axis_values.push_back(values);
    plan.axis_values.back().push_back(fmt::format("{:.0f}B", cap.value()));
  });
  plan.scenarios.push_back(std::move(first));
}

// `like`: by point that is left out, the one that stands for it.
void keep(const std::vector<std::size_t>& kept, const std::map<std::size_t, std::size_t>& like,
          SweepPlan& plan) {
  if (kept.size() == plan.points.size()) return;
  std::vector<std::size_t> place(plan.points.size());
  for (std::size_t to = 0; to < kept.size(); ++to) place[kept[to]] = to;
  for (auto [out, of] : like) place[out] = place[of];
  for (std::size_t to = 0; to < kept.size(); ++to) {
    auto from = kept[to];
    plan.points[to] = plan.points[from];
    plan.axis_values[to] = plan.axis_values[from];
    plan.same_as[to] = place[plan.same_as[from]];
    plan.numbers[to] = plan.numbers[from];
  }
  plan.points.resize(kept.size());
  plan.axis_values.resize(kept.size());
  plan.same_as.resize(kept.size());
  plan.numbers.resize(kept.size());
}

// Where no cap applies all caps give the same: one point of such a group is enough.
void keep_one_without_cap(SweepPlan& plan) {
  if (plan.axes.empty() || plan.axes.back().key != kBucketCapAxis) return;
  auto group = [&, caps = plan.axes.back().values.size()](std::size_t i) { return plan.numbers[i] / caps; };
  std::vector<std::size_t> kept;
  std::map<std::size_t, std::size_t> like;
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    if (i == 0 || group(i) != group(i - 1) || plan.points[i].base->plan.bucket_cap ||
        plan.points[i].bucket_cap)
      kept.push_back(i);
    else
      like[i] = kept.back();
  keep(kept, like, plan);
}

// With lengths, so that only equal values have the same.
void add_text(const config::Value& value, std::string& text) {
  text += fmt::format("{}{}:{}[", static_cast<int>(value.kind), value.scalar.size(), value.scalar);
  for (const auto& item : value.items) add_text(item, text);
  text += '{';
  for (const auto& entry : value.entries) {
    text += fmt::format("{}:{}=", entry.key.size(), entry.key);
    add_text(entry.value, text);
  }
  text += '}';
}

bool is_unused(const Scenario& scenario, std::string_view key) {
  return std::ranges::any_of(scenario.unused_keys, [&](const UnusedKey& unused) {
    return key == unused.path || key.starts_with(unused.path + ".");
  });
}

// Of points that are the same job the first, with kUnusedValue in place of what does not count in it. `jobs`:
// what counts, by scenario.
void keep_one_of_each_job(const std::vector<std::string>& jobs, SweepPlan& plan) {
  std::vector<std::size_t> kept;
  std::map<std::size_t, std::size_t> like;
  std::map<std::pair<std::string_view, std::optional<Bytes>>, std::size_t> first;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    for (std::size_t axis = 0; axis < plan.axes.size(); ++axis)
      if (is_unused(*plan.points[i].base, plan.axes[axis].key)) plan.axis_values[i][axis] = kUnusedValue;
    const auto* base = plan.points[i].base;
    auto cap = plan.points[i].bucket_cap;  // in place of its base's
    if (!cap && !is_unused(*base, kBucketCapAxis)) cap = base->ddp.bucket_cap;
    std::string_view job = jobs[static_cast<std::size_t>(base - plan.scenarios.data())];
    auto [known, is_new] = first.try_emplace({job, cap}, i);
    if (is_new)
      kept.push_back(i);
    else
      like[i] = known->second;
  }
  keep(kept, like, plan);
}

SweepPlan plan_all(const config::Value& root, const SweepGrid& grid, Files& files,
                   const OnRefused& on_refused) {
  std::vector<std::size_t> all(grid.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::string> jobs;
  auto plan = plan_points(root, grid, all, files, on_refused, &jobs);
  keep_one_without_cap(plan);
  keep_one_of_each_job(jobs, plan);
  return plan;
}

}  // namespace

SweepGrid::SweepGrid(std::vector<config::SweepAxis> axes) : axes_(std::move(axes)) {
  check_axes(axes_);
  std::stable_partition(axes_.begin(), axes_.end(),
                        [](const auto& axis) { return axis.key != kBucketCapAxis; });
}

std::size_t SweepGrid::size() const {
  std::size_t size = 1;
  for (const auto& axis : axes_) size *= axis.values.size();
  return size;
}

std::vector<std::size_t> SweepGrid::indices(std::size_t point) const {
  std::vector<std::size_t> indices(axes_.size());
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    indices[axis] = point % axes_[axis].values.size();
    point /= axes_[axis].values.size();
  }
  return indices;
}

std::vector<std::string> SweepGrid::values(std::size_t point) const {
  auto at = indices(point);
  std::vector<std::string> values;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    values.push_back(text_of(axes_[axis].values[at[axis]]));
  return values;
}

void SweepGrid::set(config::Value& root, std::size_t point, const std::set<std::string_view>* keys) const {
  auto at = indices(point);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    if (!keys || keys->contains(key_of(axes_[axis])))
      config::set_at(root, axes_[axis].key, axes_[axis].values[at[axis]], axes_[axis].span);
}

std::set<std::string_view> SweepGrid::differing(std::size_t point, std::size_t other) const {
  auto at = indices(point), at_other = indices(other);
  std::set<std::string_view> keys;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    if (at[axis] != at_other[axis]) keys.insert(key_of(axes_[axis]));
  return keys;
}

const GivenJob& PointJobs::at(std::size_t point) {
  if (job_) {
    try {
      auto keys = grid_.differing(point, point_);
      for (auto key : keys) put_back(job_->root, root_, key);
      grid_.set(job_->root, point, &keys);
      read_again(*job_, keys);
      point_ = point;
      return *job_;
    } catch (const InputError&) {  // of several mistakes the whole text says the first
      job_.reset();
    }
  }
  auto root = root_;
  grid_.set(root, point);
  job_ = read_job(root);
  point_ = point;
  return *job_;
}

SweepPlan plan_points(const config::Value& root, const SweepGrid& grid, std::span<const std::size_t> numbers,
                      Files& files, const OnRefused& on_refused, std::vector<std::string>* jobs) {
  SweepPlan plan{as_written(grid.axes()), {}, {}, {}, {}};
  std::span<const config::Value> caps;
  if (!grid.axes().empty() && grid.axes().back().key == kBucketCapAxis) caps = grid.axes().back().values;
  std::vector<PointOfGroup> points;
  KnownBuckets known;
  std::optional<std::size_t> group;  // of the last scenario that was read
  PointJobs point_jobs(root, grid);
  for (auto number : numbers) {
    std::optional<Bytes> cap;
    if (!caps.empty() && group == number / caps.size())
      cap = cap_of_variant(caps[number % caps.size()], plan.scenarios.back());
    try {
      if (!cap) {
        const auto& given = point_jobs.at(number);
        plan.scenarios.push_back(resolve(files, given));
        if (jobs) add_text(write_used(given.job), jobs->emplace_back());
        known = {};
        if (!caps.empty()) group = number / caps.size();
      }
      const auto& base = plan.scenarios.back();
      plan.same_as.push_back(known.first_with(points.size(), base.plan, base.ddp, cap));
    } catch (const InputError& why) {
      on_refused(number, why);
      continue;
    }
    points.push_back({plan.scenarios.size() - 1, cap});
    plan.axis_values.push_back(grid.values(number));
    plan.numbers.push_back(number);
  }
  add_points(points, plan);
  return plan;
}

SweepPlan plan_grid(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files) {
  return plan_all(root, SweepGrid(std::move(axes)), files, [](std::size_t, const InputError&) { throw; });
}

SweepPlan plan_possible(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files) {
  SweepGrid grid(std::move(axes));
  std::optional<InputError> first;
  std::vector<std::size_t> numbers;
  std::vector<FailedPoint> refused;
  auto plan = plan_all(root, grid, files, [&](std::size_t number, const InputError& why) {
    if (!first) first = why;
    numbers.push_back(number);
    refused.push_back({grid.values(number), PointFailure::input, why.what()});
  });
  if (plan.points.empty()) throw *first;
  for (std::size_t i = 0; i < refused.size(); ++i) {
    auto after = std::upper_bound(plan.numbers.begin(), plan.numbers.end(), numbers[i]);
    refused[i].before = static_cast<std::size_t>(after - plan.numbers.begin());
  }
  plan.refused = std::move(refused);
  return plan;
}

SweepPlan expanded(SweepPlan plan) {
  std::vector<Scenario> scenarios;
  scenarios.reserve(plan.points.size());
  for (const auto& point : plan.points) scenarios.push_back(point.scenario());
  plan.scenarios = std::move(scenarios);
  plan.points = unchanged(plan.scenarios);
  return plan;
}

SweepPlan plan_exact_optimum(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files) {
  std::erase_if(axes, [](const auto& axis) { return axis.key == kBucketCapAxis; });
  SweepGrid grid(std::move(axes));
  SweepPlan plan{as_written(grid.axes()), {}, {}, {}, {}};
  std::vector<PointOfGroup> caps;
  plan.axes.push_back({std::string(kBucketCapAxis), {}});
  PointJobs jobs(root, grid);
  for (std::size_t group = 0; group < grid.size(); ++group)
    add_exact_caps(jobs.at(group), grid.values(group), files, plan, caps);
  add_points(caps, plan);
  for (const auto& values : plan.axis_values) plan.axes.back().values.push_back(values.back());
  return plan;
}

}  // namespace ddpsim
