#include "sim/cli/calibrate_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/calibrate/profiled_work.hpp"
#include "sim/cli/run.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/text/physics_calibration.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::ProfiledWork;
using calibrate::SlowdownFit;
using calibrate::TimedWork;
using pytorch_profiler::Profile;

constexpr double kLargestSlowdown = 20;
constexpr double kFasterThanNoise = -0.05;
constexpr double kMuchDrift = 0.02;
constexpr double kMuchWaiting = 0.1;

InputError about(const std::string& path, const std::string& message, const std::string& hint) {
  return {whole_file(make_source(path, "")), message, hint};
}

Profile read(const std::string& path) {
  ProgressLine line(false);
  auto profile = pytorch_profiler::read_profile(
      path, [&line](double share) { line.show(fmt::format("{:.0f} % read", 100 * share)); });
  if (std::none_of(profile.gpu_work.begin(), profile.gpu_work.end(),
                   [](const auto& work) { return work.kind == pytorch_profiler::GpuWorkKind::kernel; }))
    throw about(path, "has no kernels that compute", "profile with ProfilerActivity.CUDA");
  return profile;
}

// Of another GPU's kernels nothing follows.
void check_same_gpu(const OverlapProfileOptions& options, const Profile& profile, const Profile& alone) {
  auto name = [](const Profile& of) {
    auto device = of.device_names.find(of.gpu_work.front().device);
    return device == of.device_names.end() ? std::string() : device->second;
  };
  if (!name(profile).empty() && !name(alone).empty() && name(profile) != name(alone))
    throw about(options.alone,
                fmt::format("is of a {}, and {} of a {}", name(alone), options.profile, name(profile)),
                "profile both on the same GPU");
}

std::string percent(double share) {
  return share > kLargestSlowdown ? fmt::format("over {:.0f} %", 100 * kLargestSlowdown)
                                  : fmt::format("{:.1f} %", 100 * share);
}

std::string part(const SlowdownFit::Part& part, const char* why) {
  return fmt::format("{} {} ({})", part.count, why, format_seconds(part.beside));
}

std::string left_out(const SlowdownFit& fit) {
  std::vector<std::string> parts;
  if (fit.never_alone.count > 0) parts.push_back(part(fit.never_alone, "that never ran alone"));
  if (fit.unequal.count > 0) parts.push_back(part(fit.unequal, "whose times alone differ by more than 10 %"));
  if (fit.disturbed.count > 0)
    parts.push_back(part(fit.disturbed, "beside kernels or copies of other streams"));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

void check_evidence(const OverlapProfileOptions& options, const ProfiledWork& work, const SlowdownFit& fit) {
  constexpr const char* kUsable =
      "profile DDP steps on several GPUs with NCCL, in which backward and all-reduces overlap";
  if (work.collectives.empty())
    throw about(options.profile, "has no collectives: no kernel of NCCL", kUsable);
  if (fit.all.count == 0)
    throw about(options.profile, "has no kernel that runs beside a collective", kUsable);
  if (fit.kinds == 0)
    throw about(options.profile,
                fmt::format("has {} kernels that run beside a collective, and none can be compared with the "
                            "same work alone: left out are {}",
                            fit.all.count, left_out(fit)),
                options.alone.empty()
                    ? "profile more steps, or give --alone a trace of the same model on one GPU, "
                      "or of steps under no_sync()"
                    : "is --alone of the same model, batch size and GPU?");
  if (fit.slowdown < kFasterThanNoise || fit.slowdown > kLargestSlowdown)
    throw about(options.profile,
                fmt::format("kernels would take {} longer beside collectives than alone: they do not do the "
                            "same work",
                            percent(fit.slowdown)),
                options.alone.empty()
                    ? "do shapes differ from step to step? Give --alone a trace of the same "
                      "shapes without communication"
                    : "is --alone of the same model, batch size and GPU?");
}

// Whether collectives were measured alone, with a result that a collective can have.
bool is_usable(const SlowdownFit& fit) {
  return fit.kinds > 0 && fit.slowdown >= kFasterThanNoise && fit.slowdown <= kLargestSlowdown;
}

// What of the collectives' time is beyond the shortest of their size: they wait for other ranks.
double beyond_shortest(const std::vector<TimedWork>& collectives) {
  std::map<calibrate::WorkIdentity, Seconds> shortest;
  for (const auto& one : collectives) {
    auto& least = shortest.try_emplace(one.identities.front(), one.duration).first->second;
    least = std::min(least, one.duration);
  }
  Seconds waited, total;
  for (const auto& one : collectives) {
    waited += one.duration - shortest.at(one.identities.front());
    total += one.duration;
  }
  return total > Seconds(0) ? waited / total : 0;
}

std::string spread(const SlowdownFit& fit) {
  std::string text;
  if (fit.standard_error) text = fmt::format("standard error {:.1f}; ", 100 * *fit.standard_error);
  return text + fmt::format("quartiles {}, {}, {}", percent(fit.lower_quartile), percent(fit.median),
                            percent(fit.upper_quartile));
}

std::string why_unusable(const OverlapProfileOptions& options, const ProfiledWork& work,
                         const SlowdownFit& fit) {
  if (!options.algbw.empty()) return "their own times are not known";
  if (fit.kinds > 0)
    return fmt::format("{} longer is what waiting for other ranks makes of it", percent(fit.slowdown));
  return fmt::format("none of {} can be compared; left out: {}", work.collectives.size(), left_out(fit));
}

void print_collectives(const OverlapProfileOptions& options, const ProfiledWork& work,
                       const SlowdownFit& fit) {
  if (is_usable(fit)) {
    fmt::print("beside compute collectives take {} longer ({}), from {} of {}; left out: {}\n",
               percent(fit.slowdown), spread(fit), fit.compared.count, work.collectives.size(),
               left_out(fit));
  } else {
    fmt::print("collectives beside compute: taken to be the same, for {}\n",
               why_unusable(options, work, fit));
  }
  if (!options.algbw.empty()) {
    fmt::print("of {} of collectives in flight {} are waiting for other ranks, and do not count\n",
               format_seconds(work.in_flight), format_seconds(work.waiting));
  } else if (auto share = beyond_shortest(work.collectives); share > kMuchWaiting) {
    fmt::print(
        "collectives wait for other ranks: {:.0f} % of their time is beyond the shortest of their size. "
        "Waiting slows compute less; with --algbw it does not count\n",
        100 * share);
  }
}

void print_report(const OverlapProfileOptions& options, const ProfiledWork& work, const SlowdownFit& compute,
                  const SlowdownFit& collective) {
  Seconds total;
  for (const auto& kernel : work.kernels) total += kernel.duration;
  fmt::print("{} kernels compute for {}, {} of them for {} ({:.1f} %) beside collectives\n",
             work.kernels.size(), format_seconds(total), compute.all.count,
             format_seconds(compute.all.beside), 100 * (compute.all.beside / total));
  fmt::print("compared with the same work alone: {} of {} ({}); left out: {}\n", compute.compared.count,
             counted(compute.kinds, "kind"), format_seconds(compute.compared.beside), left_out(compute));
  fmt::print("beside collectives compute takes {} longer ({})\n", percent(compute.slowdown), spread(compute));
  print_collectives(options, work, collective);
  if (compute.drift && std::abs(*compute.drift) > kMuchDrift)
    fmt::print("alone, kernels take {:.1f} % {} here than in {}: that is in the result\n",
               100 * std::abs(*compute.drift), *compute.drift > 0 ? "longer" : "shorter", options.alone);
  if (compute.slowdown < 0 || (is_usable(collective) && collective.slowdown < 0))
    fmt::print("what is below zero is written as zero: nothing gets faster by it\n");
}

}  // namespace

void calibrate_profile(const OverlapProfileOptions& options) {
  check_outputs({{"--out", options.out}});
  std::optional<BytesPerSecond> algbw;
  if (!options.algbw.empty())
    algbw = parse_bandwidth({options.algbw, whole_file(make_source("--algbw", options.algbw))});
  auto profile = read(options.profile);
  auto work = calibrate::profiled_work(profile, algbw);
  ProfiledWork alone;
  if (!options.alone.empty()) {
    auto without = read(options.alone);
    check_same_gpu(options, profile, without);
    alone = calibrate::profiled_work(without);
  }
  auto compute = calibrate::fit_slowdown(work.kernels, alone.kernels);
  check_evidence(options, work, compute);
  if (algbw && work.waiting == Seconds(0))
    throw about(
        options.profile,
        fmt::format("no all-reduce is in flight for longer than at {}, or none says its size", options.algbw),
        "is it in bytes a second, and are sizes recorded (\"In msg nelems\")? Else leave --algbw out");
  SlowdownFit collective;  // with --algbw their times are not their own
  if (!algbw) collective = calibrate::fit_slowdown(work.collectives, alone.collectives);
  if (!options.quiet && options.out != "-") print_report(options, work, compute, collective);
  double s = std::max(compute.slowdown, 0.0);
  double r = is_usable(collective) ? std::max(collective.slowdown, 0.0) : s;
  auto what =
      fmt::format("{}{}: {} of {}, {} beside collectives, {} longer ({})", options.profile,
                  options.algbw.empty() ? "" : fmt::format(", all-reduces of {}", options.algbw),
                  counted(compute.compared.count, "kernel"), counted(compute.kinds, "kind"),
                  format_seconds(compute.compared.beside), percent(compute.slowdown), spread(compute));
  OutputPhase writing;
  write_output(options.out, write_physics_calibration({{s, r}, std::nullopt}, what));
}

}  // namespace ddpsim::cli
