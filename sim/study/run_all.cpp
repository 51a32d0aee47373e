#include "sim/study/run_all.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/doing.hpp"
#include "sim/process/interrupts.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {
namespace {

using OnVariant = std::function<void(std::size_t, const Scenario&, Prediction)>;

// Of one scenario, while it waits for its turn.
struct Outcome {
  std::optional<Scenario> scenario;
  std::optional<Prediction> prediction;  // none: memory ran out
};

// In this process, by threads: each keeps what it has prepared from one scenario to the next.
void run_here(std::span<const ScenarioVariant> variants, unsigned jobs, const OnVariant& on_prediction,
              const OnLost& on_lost, const Simulate& simulate) {
  auto workers =
      static_cast<unsigned>(std::clamp<std::size_t>(variants.size(), 1, std::max<std::size_t>(1, jobs)));
  constexpr std::size_t kAheadEach = 4;
  std::vector<Outcome> waiting(kAheadEach * workers);
  std::vector<Simulate> simulate_by(workers, simulate);
  run_in_threads(
      variants.size(), workers, waiting.size(),
      [&](unsigned worker, std::size_t i) {
        check_interrupts();
        auto& outcome = waiting[i % waiting.size()];
        try {
          outcome.scenario = variants[i].scenario();
          outcome.prediction = predict(*outcome.scenario, simulate_by[worker], 1);
        } catch (const std::bad_alloc&) {
        }
      },
      [&](std::size_t i) {
        auto [scenario, prediction] = std::exchange(waiting[i % waiting.size()], {});
        // What others held then may be free now.
        if (!prediction) try {
            scenario = variants[i].scenario();
            prediction = predict(*scenario, simulate_by.front(), 1);
          } catch (const std::bad_alloc&) {
            return on_lost(i, EnvironmentError("out of memory", kMemoryHint));
          }
        on_prediction(i, *scenario, *std::move(prediction));
      });
}

}  // namespace

void run_all(std::span<const ScenarioVariant> variants, unsigned jobs, const OnVariant& on_prediction,
             const OnLost& on_lost, const Simulate& simulate) {
  bool in_children = std::any_of(variants.begin(), variants.end(), [](const ScenarioVariant& variant) {
    return variant.base->uses_up_process();
  });
  if (!in_children) return run_here(variants, jobs, on_prediction, on_lost, simulate);
  Doing doing("simulating on SimGrid");
  load_simgrid();  // once, and not in every child
  unsigned jobs_each = variants.size() == 1 ? jobs : 1;
  predict_each(
      variants.size(), jobs, true,
      [&](std::size_t i) { return predict(variants[i].scenario(), simulate, jobs_each); },
      [&](std::size_t i, Prediction prediction) {
        on_prediction(i, variants[i].scenario(), std::move(prediction));
      },
      on_lost);
}

void run_all(std::span<const Scenario> scenarios, unsigned jobs,
             const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost,
             const Simulate& simulate) {
  run_all(
      unchanged(scenarios), jobs,
      [&](std::size_t i, const Scenario&, Prediction prediction) { on_prediction(i, std::move(prediction)); },
      on_lost, simulate);
}

}  // namespace ddpsim
