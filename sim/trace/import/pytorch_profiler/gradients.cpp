#include "sim/trace/import/pytorch_profiler/gradients.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/trace/import/pytorch_profiler/layer_forwards.hpp"
#include "sim/trace/import/pytorch_profiler/sizes.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

[[noreturn]] void fail(const Flaw& flaw) {
  throw InputError(flaw.message, flaw.hint);
}

// Sizes every step by the rule; those it cannot size are left out, unless that is all of them.
template <class SizeStep>
void size_steps(std::vector<MeasuredStep>& steps, SizeStep size_step, std::vector<std::string>& remarks) {
  std::vector<MeasuredStep> sized;
  std::vector<Flaw> flaws;
  for (auto& step : steps) {
    auto sizes = size_step(step);
    if (const auto* flaw = std::get_if<Flaw>(&sizes)) {
      flaws.push_back(*flaw);
      continue;
    }
    step.sizes = std::get<std::vector<GradientSize>>(std::move(sizes));
    sized.push_back(std::move(step));
  }
  if (sized.empty()) fail(flaws.front());
  for (const auto& flaw : flaws) remarks.push_back(fmt::format("a step was left out; {}", flaw.message));
  steps = std::move(sized);
}

// Leaves the steps with the same gradients, as most of them have.
void keep_equal(std::vector<MeasuredStep>& steps, std::vector<std::string>& remarks) {
  std::map<std::vector<GradientSize>, std::size_t> kinds;
  for (const auto& step : steps) ++kinds[step.sizes];
  if (kinds.size() == 1) return;
  auto most = std::max_element(kinds.begin(), kinds.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  auto ties = std::count_if(kinds.begin(), kinds.end(),
                            [most](const auto& kind) { return kind.second == most->second; });
  if (ties > 1)
    throw InputError(
        fmt::format("the steps do not have the same gradients: {} has {} and {} has {}{}",
                    steps.front().step->name, steps.front().sizes.size(), steps.back().step->name,
                    steps.back().sizes.size(),
                    steps.front().sizes.size() == steps.back().sizes.size() ? ", of other sizes" : ""),
        "profile steps that train the same parameters, after a warm-up of a few");
  std::erase_if(steps, [&](const MeasuredStep& step) {
    if (step.sizes == most->first) return false;
    remarks.push_back(fmt::format("{} was left out: it does not have the same gradients as the other steps",
                                  step.step->name));
    return true;
  });
}

// The gradients that were complete on the CPU when the all-reduce was launched.
std::size_t complete_at(const Step& step, Time launched) {
  auto after = std::upper_bound(step.accumulations.begin(), step.accumulations.end(), launched,
                                [](Time moment, const Accumulation& a) { return moment < a.end; });
  return static_cast<std::size_t>(after - step.accumulations.begin());
}

// The hook of a bucket's last gradient launches it, so that is the last one that is complete by then. A
// kernel that runs proves that it was ready.
Time bucket_ready(const AllReduce& all_reduce, const Step& step, const ComputeStream& stream) {
  auto ready = all_reduce.kernel.start;
  if (all_reduce.launched) {
    auto complete = complete_at(step, *all_reduce.launched);
    ready = std::min(
        ready, stream.event(complete == 0 ? *all_reduce.launched : step.accumulations[complete - 1].end));
  }
  return std::max(ready, stream.event(step.backward.start));
}

void time_gradients(MeasuredStep& step, SizeRule rule, const ComputeStream& stream) {
  for (const auto& all_reduce : step.all_reduces.list)
    step.bucket_ready.push_back(bucket_ready(all_reduce, *step.step, stream));
  if (rule == SizeRule::buckets) {
    step.ready = step.bucket_ready;
    for (std::size_t i = 1; i < step.ready.size(); ++i)
      step.ready[i] = std::max(step.ready[i], step.ready[i - 1]);
  } else {
    for (const auto& accumulation : step.step->accumulations)
      step.ready.push_back(stream.event(accumulation.end));
  }
}

// DDP's all-reduces hold the gradients, and all of them: what no gradient's hook launched and does not is not
// DDP's.
void check_elements(MeasuredStep& step, std::vector<std::string>& remarks) {
  auto& all_reduces = step.all_reduces;
  if (all_reduces.list.empty()) return;
  double reduced = 0, gradients = 0;
  for (const auto& all_reduce : all_reduces.list) reduced += static_cast<double>(all_reduce.elements);
  for (const auto& size : step.sizes) gradients += static_cast<double>(size.elements);
  if (reduced == gradients) return;
  if (all_reduces.hooked) {
    auto remark = fmt::format(
        "DDP's all-reduces hold {:.0f} elements and the gradients {:.0f}: every tensor that requires a "
        "gradient counts, such as an input, or that of a block under reentrant checkpointing",
        reduced, gradients);
    if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
    return;
  }
  all_reduces.list.clear();
  all_reduces.flaw = Flaw{
      fmt::format(
          "no gradient's hook launched them, and they hold {:.0f} elements while the gradients have {:.0f}",
          reduced, gradients),
      ""};
}

// Whether each bucket was launched by the last of its gradients, which then arrived bucket by bucket.
bool arrives_by_buckets(const MeasuredStep& step) {
  std::size_t gradients = 0;
  for (const auto& bucket : step.all_reduces.list) {
    for (std::int64_t elements = 0; elements < bucket.elements; ++gradients)
      elements += step.sizes[gradients].elements;
    if (bucket.launched && complete_at(*step.step, *bucket.launched) != gradients) return false;
  }
  return true;
}

}  // namespace

std::vector<Step> without_undefined_gradients(std::vector<Step> steps, const Collectives& collectives,
                                              std::vector<std::string>& remarks) {
  std::set<std::string> said;  // once, however many steps
  for (auto& step : steps) {
    auto& all = step.accumulations;
    auto has_shape = [](const Accumulation& one) { return one.elements.has_value(); };
    auto known = std::ranges::count_if(all, has_shape);
    auto missing = static_cast<std::ptrdiff_t>(all.size()) - known;
    if (known == 0 || missing == 0) continue;
    double elements = 0, reduced = 0;
    for (const auto& one : all) elements += static_cast<double>(one.elements.value_or(0));
    for (const auto& one : collectives.all_reduces(step).list) reduced += static_cast<double>(one.elements);
    auto what =
        fmt::format("{} of {} gradients {} no shape", missing, all.size(), missing == 1 ? "has" : "have");
    if (elements == reduced) {
      std::erase_if(all, [&](const Accumulation& one) { return !has_shape(one); });
      said.insert(what + ", and DDP's all-reduces hold exactly the others: undefined, or sparse; left out");
    } else if (reduced > 0) {
      said.insert(fmt::format("{}, and the others have {:.0f} elements where DDP's all-reduces hold {:.0f}",
                              what, elements, reduced));
    } else {
      said.insert(what);
    }
  }
  remarks.insert(remarks.end(), said.begin(), said.end());
  return steps;
}

MeasuredSteps measure_gradients(const Profile& profile, const std::vector<Step>& steps,
                                const Collectives& collectives, const ComputeStream& stream,
                                std::vector<std::string>& remarks) {
  MeasuredSteps measured;
  auto copied = copied_bytes(profile);
  bool have_shapes = true, have_copies = false, have_all_reduces = false;
  for (const auto& step : steps) {
    measured.steps.push_back({&step, collectives.all_reduces(step), {}, {}, {}, {}});
    have_shapes &=
        std::ranges::all_of(step.accumulations, [](const Accumulation& a) { return a.elements.has_value(); });
    bool reduces = !measured.steps.back().all_reduces.list.empty();
    have_all_reduces |= reduces;
    have_copies = have_copies || (reduces && !copies_of(step, profile, copied).empty());
  }
  if (!stream.knows_launches() && !have_all_reduces)
    fail(
        {"has GPU kernels, but not the calls on the CPU that launched them: nothing tells when a gradient is "
         "ready",
         "profile with both ProfilerActivity.CPU and ProfilerActivity.CUDA"});
  if (have_shapes && stream.knows_launches()) {
    measured.rule = SizeRule::shapes;
    size_steps(
        measured.steps, [](const auto& step) { return sizes_by_shapes(*step.step); }, remarks);
  } else if (have_copies) {
    measured.rule = SizeRule::copies;
    auto by_copies = [&](const MeasuredStep& step) {
      return sizes_by_copies(copies_of(*step.step, profile, copied), *step.step, step.all_reduces);
    };
    size_steps(measured.steps, by_copies, remarks);
  } else {
    measured.rule = SizeRule::buckets;
    auto by_buckets = [](const auto& step) { return sizes_by_buckets(*step.step, step.all_reduces); };
    size_steps(measured.steps, by_buckets, remarks);
  }
  keep_equal(measured.steps, remarks);
  if (measured.rule == SizeRule::shapes)
    for (auto& step : measured.steps) check_elements(step, remarks);
  for (auto& step : measured.steps) {
    time_gradients(step, measured.rule, stream);
    if (measured.rule != SizeRule::buckets) step.forward_ends = layer_forwards(profile, *step.step, stream);
  }
  if (measured.rule == SizeRule::copies &&
      !std::all_of(measured.steps.begin(), measured.steps.end(), arrives_by_buckets))
    remarks.emplace_back(
        "gradients did not arrive in the order of DDP's buckets: some have the size of a neighbour; "
        "record with record_shapes=True for the right ones");
  return measured;
}

}  // namespace ddpsim::pytorch_profiler
