#include "sim/trace/import/pytorch_profiler/remarks.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "sim/base/one_line.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

constexpr double kMostlyIdle = 0.5;
constexpr double kMuchElsewhere = 0.05;
constexpr double kMuchLeftOut = 0.05;

double gpu_busy(const std::vector<StepTimes>& times) {
  std::vector<double> shares;
  for (const auto& step : times) shares.push_back(step.gpu_busy);
  return median(shares);
}

double share_of_other_streams(const ImportFacts& facts) {
  ComputeStream::KernelTimes all;
  for (const auto& step : facts.measured.steps) {
    auto times = facts.stream.kernel_times(step.step->backward);
    all.here += times.here;
    all.elsewhere += times.elsewhere;
  }
  auto total = (all.here + all.elsewhere).count();
  return total == 0 ? 0 : static_cast<double>(all.elsewhere.count()) / static_cast<double>(total);
}

// What the recorded steps spend on something that a layer trace does not hold, where it is much.
std::optional<std::string> time_left_out(const std::vector<StepTimes>& times) {
  std::vector<double> whole, left_out;
  for (const auto& step : times) {
    if (!step.whole) continue;
    whole.push_back(step.whole->value());
    left_out.push_back(step.left_out->value());
  }
  if (whole.empty() || median(left_out) <= kMuchLeftOut * median(whole)) return std::nullopt;
  return fmt::format(
      "{:.4g} ms of a step's {:.4g} ms are neither forward, backward, its all-reduces nor the optimizer "
      "(DDP's copies out of its buckets, clipping gradients, logging, loading data?) "
      "and belong to nothing here",
      1e3 * median(left_out), 1e3 * median(whole));
}

std::string steps_and_statistic(const ImportFacts& facts) {
  const auto& steps = facts.measured.steps;
  if (steps.size() == 1) return fmt::format("One recorded step, {}.", steps.front().step->name);
  return fmt::format(
      "{} recorded steps, {} to {}; times are their {}s, ready_std_s is the deviation over them.",
      steps.size(), steps.front().step->name, steps.back().step->name,
      facts.statistic == Statistic::mean ? "mean" : "median");
}

bool launches_recorded(const MeasuredSteps& measured) {
  for (const auto& step : measured.steps)
    for (const auto& all_reduce : step.all_reduces.list)
      if (!all_reduce.launched) return false;
  return true;
}

std::string sizes(const MeasuredSteps& measured) {
  switch (measured.rule) {
    case SizeRule::shapes:
      return "Sizes are the shapes that the profiler recorded.";
    case SizeRule::copies:
      return "Sizes are those of DDP's copies out of its buckets, which add up to its all-reduces.";
    case SizeRule::buckets:
      break;
  }
  return "Each gradient here is a whole bucket of DDP, as large as its all-reduce; "
         "the sizes of single gradients were not recorded.";
}

std::string ready_rule(const MeasuredSteps& measured) {
  if (measured.rule != SizeRule::buckets)
    return "A gradient is ready when its AccumulateGrad is over and the GPU work launched before is done.";
  return launches_recorded(measured)
             ? "A bucket is ready when the last AccumulateGrad before its all-reduce's launch is over "
               "and the GPU work launched before is done."
             : "A bucket is ready no later than its all-reduce's kernel starts, which is what stands here.";
}

}  // namespace

std::vector<std::string> notes(const ImportFacts& facts) {
  std::vector<std::string> lines{one_line(fmt::format("imported from {}, a trace of the PyTorch profiler.",
                                                      std::filesystem::path(facts.path).filename().string())),
                                 one_line(steps_and_statistic(facts)), sizes(facts.measured),
                                 ready_rule(facts.measured)};
  lines.emplace_back(
      facts.trace.registration_guessed
          ? "Names and the order of registration were not recorded."
          : "Names were not recorded; registration is the order in which the optimizer lists the "
            "parameters.");
  if (facts.trace.has_forward_ends())
    lines.emplace_back("forward_s is the end of the forward operator whose node made the gradient.");
  std::string run;
  if (!facts.profile.nccl_version.empty()) run += fmt::format(", NCCL {}", facts.profile.nccl_version);
  if (facts.group_size) run += fmt::format(", {} ranks", *facts.group_size);
  if (!run.empty()) lines.push_back(one_line(fmt::format("Recorded on one rank{}.", run)));
  if (facts.stream.has_kernels())
    lines.push_back(
        fmt::format("A compute kernel ran for {:.0f} % of the backward pass.", 100 * gpu_busy(facts.times)));
  return lines;
}

std::vector<std::string> warnings(const ImportFacts& facts) {
  std::vector<std::string> sentences;
  if (facts.measured.rule == SizeRule::buckets) {
    bool some = std::ranges::any_of(facts.profile.accumulations,
                                    [](const Accumulation& one) { return one.elements.has_value(); });
    sentences.push_back(
        fmt::format("{}: each of DDP's buckets became one gradient, which other bucket caps cannot split{}",
                    some ? "not all gradients' sizes are known" : "the gradients' sizes were not recorded",
                    some ? "" : "; profile with record_shapes=True for the real ones"));
    if (!launches_recorded(facts.measured))
      sentences.emplace_back(
          "the launches of all-reduces were not recorded: a bucket counts as ready when its kernel starts, "
          "which is later than it was");
  }
  if (!facts.stream.has_kernels())
    sentences.emplace_back("no GPU kernels were recorded: times are those of the CPU");
  else if (gpu_busy(facts.times) < kMostlyIdle)
    sentences.push_back(
        fmt::format("the GPU computed for only {:.0f} % of the backward pass: "
                    "its times are those of the Python and CPU side rather than of the GPU",
                    100 * gpu_busy(facts.times)));
  if (auto share = share_of_other_streams(facts); share > kMuchElsewhere)
    sentences.push_back(fmt::format(
        "{:.0f} % of the kernels' time in the backward pass was on other streams than the compute "
        "stream: gradients computed there count as ready too early",
        100 * share));
  std::size_t others = 0;
  for (const auto& step : facts.measured.steps) others = std::max(others, step.all_reduces.others);
  if (others > 0)
    sentences.push_back(
        fmt::format("{} collective{} of a backward pass that reduce{} no bucket of DDP {} left out", others,
                    others == 1 ? "" : "s", others == 1 ? "s" : "", others == 1 ? "was" : "were"));
  if (!facts.trace.forward) sentences.emplace_back("the forward pass was not recorded and counts as zero");
  if (!facts.trace.optimizer) sentences.emplace_back("the optimizer was not recorded and counts as zero");
  if (auto gap = time_left_out(facts.times)) sentences.push_back(*gap);
  return sentences;
}

}  // namespace ddpsim::pytorch_profiler
