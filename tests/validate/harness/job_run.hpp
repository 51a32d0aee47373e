#pragma once
// Jobs run by ranks that are threads of the test (fake_backend.hpp).
#include <string>
#include <vector>

#include "validate/harness/runner.hpp"

#include "tests/validate/harness/fake_backend.hpp"

namespace ddpsim::validate::test {

// Programs are written as lists here: compute, all-reduces of a range, waits for all that were launched.
struct Action {
  std::optional<Range> range;
  double seconds = 0;
  bool waits = false;
};
inline Action compute(double seconds) {
  return {{}, seconds, false};
}
inline Action all_reduce(std::size_t first, std::size_t count) {
  return {Range{first, count}};
}
inline const Action kWait{{}, 0, true};

inline Step step_of(std::string name, const std::vector<Action>& actions, const Sampling& sampling = {},
                    bool verify = false, std::optional<Reduction> reduction = {}) {
  Step step{std::move(name), {}, {}, sampling, verify, reduction};
  std::vector<std::size_t> launched;
  for (const auto& action : actions) {
    if (action.range) {
      launched.push_back(step.program.ops.size());
      step.add_all_reduce(*action.range);
      continue;
    }
    Op op;
    op.duration = Seconds(action.seconds);
    if (action.waits) op.after = launched;
    step.program.ops.push_back(op);
  }
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
