#include "sim/cli/simulation_checks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/replay/network.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/study/timeline_difference.hpp"

namespace ddpsim::cli {
namespace {

struct Run {
  Prediction prediction;
  IterationMetrics metrics;
};

Run run(const Scenario& scenario) {
  Run run;
  run_all({&scenario, 1}, all_cores(), [&](std::size_t, Prediction one) { run.prediction = std::move(one); });
  run.metrics = metrics_of(scenario, run.prediction);
  return run;
}

std::string row(std::string_view name, Seconds asked, Seconds other) {
  return fmt::format("  {:<21} {:>12} {:>12}  {:+.2g} %\n", name, format_seconds(asked),
                     format_seconds(other), 100 * (asked / other - 1));
}

std::string rows(const IterationMetrics& asked, const IterationMetrics& other) {
  return row("iteration", asked.iteration, other.iteration) +
         row("communication", asked.communication, other.communication);
}

// Of a model that GPUs share: as many copies as so many ranks hold, one at least, each with the micro-batches
// that it has. How many ranks that are.
int with_fewer_copies(config::Value& root, const Scenario& scenario, int ranks) {
  int of_a_model = scenario.parallel->options.degrees.of_a_model();
  int before = scenario.world_size / of_a_model, after = std::max(1, ranks / of_a_model);
  auto set = [&root](const char* key, std::int64_t number) {
    config::set_at(root, key, config::scalar_value(std::to_string(number), root.span), root.span);
  };
  if (const auto* batch = root.find("batch"))
    set("batch.global",
        config::as_integer(1, kLargestBatch)(batch->value.find("global")->value) / before * after);
  if (root.find("parallelism")->value.find("data")) set("parallelism.data", after);
  return after * of_a_model;
}

}  // namespace

FidelityCheck read_fidelity_check(const std::string& file, config::Value root, const Scenario& scenario,
                                  int ranks) {
  if (!scenario.communication)
    throw InputError("--check-fidelity simulates links, and a measured cost has none",
                     "use another algorithm than measured");
  if (scenario.communication->is_alone())
    throw InputError("--check-fidelity simulates links, and a world of 1 uses none",
                     "use a larger world_size");
  ranks = std::min(scenario.world_size, ranks);
  if (scenario.parallel) ranks = with_fewer_copies(root, scenario, ranks);
  Files files(file);
  try {
    config::set_at(root, "cluster.world_size", config::scalar_value(std::to_string(ranks), root.span),
                   root.span);
    auto asked = resolve(files, root);
    config::set_at(root, "engine.fidelity", config::scalar_value("exact", root.span), root.span);
    return {std::move(asked), resolve(files, root)};
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--check-fidelity cannot do with {} ranks; with them:\n{}", ranks, error.what()),
        "say with --check-ranks how many it takes; groups that list their ranks take all of them");
  }
}

// Once as asked and once flow by flow.
std::string fidelity_check_text(const FidelityCheck& check, bool quiet) {
  ProgressLine progress(quiet, "simulations");
  progress.show_done(0, 2);
  auto asked = run(check.asked);
  progress.show_done(1, 2);
  auto exact = run(check.exact);
  progress.clear();
  return fmt::format("\nfidelity checked with {} ranks: {} against exact\n{}", check.asked.world_size,
                     asked.metrics.fidelity, rows(asked.metrics, exact.metrics));
}

void require_other_network(const Scenario& scenario) {
  if (scenario.fidelity != Fidelity::closed_form) load_simgrid();
}

std::string network_check_text(const Scenario& scenario, const Prediction& known, bool quiet) {
  if (scenario.fidelity == Fidelity::closed_form)
    return "\nnetwork checked: nobody shares a link, and the closed form needs no network\n";
  auto replayed = scenario;
  replayed.network =
      scenario.network == SharedNetwork::builtin ? SharedNetwork::simgrid : SharedNetwork::builtin;
  auto other = with_progress(quiet, [&] { return run(replayed); });
  return fmt::format(
      "\nnetwork checked: {} against {}\n{}  largest difference of any time of the step: {:.2g} "
      "of the iteration\n",
      scenario.network_name(), replayed.network_name(), rows(metrics_of(scenario, known), other.metrics),
      largest_difference(known.timeline, other.prediction.timeline));
}

}  // namespace ddpsim::cli
