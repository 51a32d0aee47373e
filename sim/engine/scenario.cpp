#include "sim/engine/scenario.hpp"

#include <algorithm>

namespace ddpsim {

const RankClass& RankGroup::slowest_class() const {
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
}

std::string_view Scenario::network_name() const {
  if (fidelity == Fidelity::closed_form) return "alone";
  return name_in(kSharedNetworkNames, network);
}

std::optional<MemoryParts> Scenario::memory() const {
  if (!model_step) return std::nullopt;
  return model_step->memory(held_states());
}

void set_software(Scenario& scenario, const Software& software) {
  auto step = std::make_shared<ModelStep>(*scenario.model_step);
  step->software = software;
  scenario.trace =
      std::make_shared<LayerTrace>(transformer_trace(step->model, step->gpu, software, step->step));
  scenario.model_step = std::move(step);
}

std::string Scenario::algorithm() const {
  if (measured_table) return "measured";
  if (communication->gloo) return "gloo";
  if (sharded && !all_reduces_shards(plan.strategy) && communication->nccl.empty())
    return "ring";  // of gathers and reduce-scatters, whatever was asked for
  return communication->nccl.empty() ? std::string(algorithm_name(communication->options.algorithm)) : "nccl";
}

bool Scenario::shares_links() const {
  if (collective_workers > 1) return true;
  return communication && communication->folded && communication->folded->is_contended();
}

double Scenario::largest_slowdown() const {
  double largest = 0;
  for (const auto& group : groups) largest = std::max(largest, group.slowest_class().slowdown);
  return largest;
}

}  // namespace ddpsim
