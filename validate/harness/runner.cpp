#include "validate/harness/runner.hpp"

#include <algorithm>

#include "validate/harness/job_json.hpp"
#include "validate/harness/replayer.hpp"
#include "validate/harness/stopping_rule.hpp"
#include "validate/harness/verification.hpp"
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::validate {
namespace {

// The times of one repetition as the slowest rank saw each of them.
StepTimes slowest(CollectiveBackend& backend, const StepTimes& mine) {
  std::vector<double> values{mine.total.value(), mine.backward_start.value()};
  for (const auto& one : mine.collectives)
    values.insert(values.end(), {one.launch.value(), one.start.value(), one.end.value()});
  values = backend.maximum(values);
  StepTimes times{Seconds(values[0]), {}, Seconds(values[1])};
  for (std::size_t i = 2; i + 2 < values.size(); i += 3)
    times.collectives.push_back({Seconds(values[i]), Seconds(values[i + 1]), Seconds(values[i + 2])});
  return times;
}

void add_medians(const std::vector<StepTimes>& repetitions, StepSamples& samples) {
  auto over_all = [&](auto time_of) {
    std::vector<double> values;
    for (const auto& times : repetitions) values.push_back(time_of(times).value());
    return Seconds(median(values));
  };
  samples.backward_start = over_all([](const StepTimes& times) { return times.backward_start; });
  for (std::size_t i = 0; i < repetitions.front().collectives.size(); ++i) {
    auto of = [&](Seconds CollectiveTimes::*moment) {
      return over_all([&](const StepTimes& times) { return times.collectives[i].*moment; });
    };
    samples.collectives.push_back(
        {of(&CollectiveTimes::launch), of(&CollectiveTimes::start), of(&CollectiveTimes::end)});
  }
}

// Ranks that somebody else started may have been given other scenarios: they would wait for each other, or
// reduce what does not belong together.
void require_same_job(CollectiveBackend& backend, const Job& job) {
  auto text = write_job(job);
  require_equal_on_all_ranks(backend, digest(std::vector<float>(text.begin(), text.end())),
                             "scenarios or options");
}

// One step, in one turn or several.
class StepRun {
 public:
  StepRun(CollectiveBackend& backend, StepPerformer& performer, StatusReporter& status, const Step& step)
      : backend_(backend), performer_(performer), status_(status), step_(step) {}

  [[nodiscard]] bool is_done() const { return verdict_ != Verdict::go_on; }

  void take_turn() {
    begin_turn();
    const auto& sampling = step_.sampling;
    for (int i = 0; !is_done() && (sampling.turn == 0 || i < sampling.turn); ++i) {
      repetitions_.push_back(once(fmt::format("repetition {}", repetitions_.size() + 1)));
      totals_.push_back(repetitions_.back().total);
      spent_ += totals_.back();  // the slowest rank's: all ranks decide alike
      verdict_ = judge(totals_, spent_, sampling);
    }
    if (is_done()) verify();
  }

  [[nodiscard]] StepSamples samples() const {
    StepSamples samples{step_.name, totals_, {}, verdict_ == Verdict::settled};
    add_medians(repetitions_, samples);
    return samples;
  }

 private:
  // Of a replay nothing is lost while others have their turns. Training is prepared and warmed up anew:
  // buckets and hooks are those of one step at a time.
  void begin_turn() {
    bool is_first = repetitions_.empty();
    if (!is_first && !step_.reduction) return;
    tell("preparing");
    performer_.prepare(step_);
    if (is_first) verify();
    for (int i = 0; i < step_.sampling.warm_up; ++i) once(fmt::format("warm-up {}", i + 1));
  }
  void tell(std::string_view what) { status_.doing(fmt::format("{}, {}", step_.name, what)); }
  [[nodiscard]] StepPerformer::WaitingFor watch(const std::string& which) {
    tell(which);
    return [this, which, collectives = step_.collectives()](std::size_t collective) {
      // PyTorch may launch others than the program expects, which is found out afterwards.
      auto operation =
          collective < collectives.size() ? collectives[collective]->operation : Operation::all_reduce;
      tell(fmt::format("{}: {} {} of {}", which, operation_words(operation), collective, collectives.size()));
    };
  }
  StepTimes once(const std::string& which) { return slowest(backend_, performer_.once(step_, watch(which))); }
  void verify() {
    if (step_.verify) performer_.verify(step_, watch("checking gradients"));
  }

  CollectiveBackend& backend_;
  StepPerformer& performer_;
  StatusReporter& status_;
  const Step& step_;
  std::vector<StepTimes> repetitions_;
  std::vector<Seconds> totals_;
  Seconds spent_;
  Verdict verdict_ = Verdict::go_on;
};

}  // namespace

RunResult run_job(CollectiveBackend& backend, Trainer* trainer, const Job& job, StatusReporter& status) {
  RunResult result{backend.name(), backend.world_size(), backend.environment(), {}};
  status.doing("preparing");
  require_same_job(backend, job);
  auto replayer = make_replayer(backend, job);
  std::vector<StepRun> runs;
  for (const auto& step : job.steps) {
    DDPSIM_CHECK(!step.reduction || trainer, "a job that trains has a model");
    runs.emplace_back(backend, step.reduction ? *trainer : *replayer, status, step);
  }
  while (!std::ranges::all_of(runs, &StepRun::is_done))
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].is_done()) continue;
      runs[i].take_turn();
      const auto& reduction = job.steps[i].reduction;
      if (reduction && reduction->kind == Reduction::Kind::none) result.trace = trainer->trace();
    }
  for (const auto& run : runs) result.steps.push_back(run.samples());
  replayer->require_equal();
  if (trainer) trainer->require_equal();
  status.doing("done");
  return result;
}

}  // namespace ddpsim::validate
