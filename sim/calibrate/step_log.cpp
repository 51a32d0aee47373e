#include "sim/calibrate/step_log.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/counted.hpp"
#include "sim/base/file_kind.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"
#include "sim/calibrate/step_log_lines.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr std::int64_t kWarmUp = 5;  // iterations; nanoGPT lets as many pass before it counts

[[noreturn]] void refuse(const LoadedText& loaded) {
  const auto& log = loaded.source;
  for (const auto& program : training_programs())
    for (auto mark : program.marks)
      for (std::size_t i = 0; i < log->lines.size(); ++i)
        if (auto at = log->lines[i].find(mark); at != std::string::npos)
          throw InputError(SourceSpan{log, static_cast<int>(i) + 1, static_cast<int>(at) + 1,
                                      static_cast<int>(mark.size())},
                           fmt::format("a log of {} without the time of a step", program.name),
                           program.what_to_print);
  throw InputError(
      whole_file(log), "no line of it says how long a step takes",
      "logs of Megatron-LM, DeepSpeed, torchtitan, nanoGPT and Hugging Face's Trainer are read; of "
      "others write the time itself: --step 1.2s");
}

// Of what is said of both, what differs.
class Contradictions {
 public:
  Contradictions(bool accepts_all, std::vector<std::string>& notes)
      : accepts_all_(accepts_all), notes_(notes) {}

  void check(const std::optional<LoggedNumber>& said, double job, std::string_view what,
             std::string_view fix) {
    if (!said || job <= 0 || said->value == job) return;
    auto message = fmt::format("the log has {} {:.15g}, the scenario {:.15g}", what, said->value, job);
    if (!accepts_all_)
      throw InputError(
          said->place, message,
          fmt::format("describe the run that was measured: {}={:.15g}; or --accept it", fix, said->value));
    notes_.push_back(message);
  }

 private:
  bool accepts_all_;
  std::vector<std::string>& notes_;
};

void check_job(const LoggedFacts& facts, const LoggedJob& job, bool accepts_all,
               std::vector<std::string>& notes) {
  Contradictions contradictions(accepts_all, notes);
  contradictions.check(facts.world_size, job.world_size, "a world size of", "--set cluster.world_size");
  contradictions.check(facts.tensor, job.tensor, "a tensor-parallel size of", "--set parallelism.tensor");
  contradictions.check(facts.pipeline, job.pipeline, "a pipeline of", "--set parallelism.pipeline");
  contradictions.check(facts.sequence, job.sequence, "a sequence of", "--set workload.sequence");
  contradictions.check(facts.batch, job.batch, "a global batch of", "--set batch.global");
  contradictions.check(facts.tokens, job.batch * job.sequence,
                       "tokens a step:", "batch.global times workload.sequence");
}

// Those that count, and how many do not.
std::vector<double> counted_times(const LoggedRun& run, StepLog& log) {
  auto times = run.times;
  if (!run.is_whole_run) {
    std::size_t first = 1;
    while (first < times.size() && times[first].iteration - times.front().iteration < kWarmUp) ++first;
    first = std::min(first, times.size() / 2);
    times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(first));
    log.warm_up = static_cast<int>(first);
  }
  auto drop = [&](auto is_unusual) {
    std::vector<LoggedTime> usual;
    for (const auto& time : times)
      if (!is_unusual(time)) usual.push_back(time);
    if (usual.empty()) return;
    log.unusual += static_cast<int>(times.size() - usual.size());
    times = std::move(usual);
  };
  auto batch = times.back().batch;
  drop([&](const LoggedTime& time) { return time.batch && batch && time.batch->value != batch->value; });
  drop([](const LoggedTime& time) { return !time.has_update; });
  if (!times.front().has_update)
    log.notes.emplace_back("in all of these iterations the optimizer's step was skipped");
  std::vector<double> seconds;
  for (const auto& time : times) seconds.push_back(time.seconds);
  return seconds;
}

}  // namespace

std::string StepLog::summary() const {
  auto text = fmt::format("{}'s log: {}, ", program, format_seconds(step));
  if (counted == 1)
    text += "one line";
  else
    text += fmt::format("the median of {} lines, half of them {} to {}, all {} to {}", counted,
                        format_seconds(lower), format_seconds(upper), format_seconds(least),
                        format_seconds(most));
  if (warm_up > 0)
    text += warm_up == 1 ? "; the first line left out as warm-up"
                         : fmt::format("; the first {} lines left out as warm-up", warm_up);
  if (unusual > 0)
    text += fmt::format("; {} left out of another batch or with a skipped update",
                        ddpsim::counted(unusual, "line"));
  return text;
}

StepLog read_step_log(const LoadedText& loaded, const LoggedJob& job, bool accepts_all) {
  for (const auto& program : training_programs()) {
    auto run = program.read(loaded.source, {job.batch, job.sequence, job.world_size});
    if (run.times.empty()) continue;
    StepLog log;
    log.program = program.name;
    log.notes = run.notes;
    check_job(run.facts, job, accepts_all, log.notes);
    auto seconds = counted_times(run, log);
    if (seconds.size() == 1 && log.warm_up == 0 && !run.is_whole_run)
      log.notes.emplace_back("the only line there is: it may be of warm-up");
    log.counted = static_cast<int>(seconds.size());
    log.step = Seconds(median(seconds));
    log.lower = Seconds(quantile(seconds, 0.25));
    log.upper = Seconds(quantile(seconds, 0.75));
    auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    log.least = Seconds(*least);
    log.most = Seconds(*most);
    return log;
  }
  refuse(loaded);
}

}  // namespace ddpsim::calibrate
