#pragma once
// Jobs run by ranks that are threads of the test (fake_backend.hpp).
#include <string>
#include <vector>

#include "validate/harness/runner.hpp"

#include "tests/validate/harness/fake_backend.hpp"
#include "tests/validate/harness/recorded_step.hpp"

namespace ddpsim::validate::test {

// Programs are written as lists here: compute, all-reduces of a range, waits for all that were launched.
using Action = std::function<void(RecordedStep&)>;
inline Action compute(double seconds) {
  return [=](RecordedStep& step) { step.compute(Seconds(seconds)); };
}
inline Action all_reduce(std::size_t first, std::size_t count) {
  return [=](RecordedStep& step) { step.all_reduce({first, count}); };
}
inline const Action kWait = [](RecordedStep& step) { step.wait(); };

inline Step step_of(std::string name, const std::vector<Action>& actions, const Sampling& sampling = {},
                    bool verify = false, std::optional<Reduction> reduction = {}) {
  RecordedStep recorded(std::move(name));
  for (const auto& action : actions) action(recorded);
  auto& step = recorded.step();
  step.sampling = sampling;
  step.verify = verify;
  step.reduction = reduction;
  return step;
}

// 2 s of computing, an all-reduce of four elements, 1 s more beside it and 1 s after it.
inline Step small_step() {
  return step_of("small", {compute(2), all_reduce(0, 4), compute(1), kWait, compute(1)});
}

struct JobRun {
  std::vector<RunResult> results;  // by rank
  std::vector<int> steps;
  std::vector<std::string> failures;
};

inline JobRun run(const Job& job, const Script& script = {}) {
  auto n = static_cast<std::size_t>(script.ranks);
  JobRun run{std::vector<RunResult>(n), std::vector<int>(n), {}};
  run.failures = on_all_ranks(script, [&](FakeBackend& backend) {
    auto rank = static_cast<std::size_t>(backend.rank());
    StatusReporter status(backend.rank());
    run.results[rank] = run_job(backend, nullptr, job, status);
    run.steps[rank] = backend.steps();
  });
  return run;
}

// Its sums are checked before and after its repetitions.
inline Job checked_job() {
  auto step = step_of("s", {all_reduce(0, 3), all_reduce(3, 5)}, {1, 5, 30, 0.005, Seconds(1000)}, true);
  return {"gloo", {}, Seconds(60), {step}};
}

}  // namespace ddpsim::validate::test
