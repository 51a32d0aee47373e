#include "sim/study/iteration_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ddpsim {
namespace {

using Of = Doubt::Of;

Seconds part_of(const IterationMetrics& metrics, Of of) {
  switch (of) {
    case Of::compute:
      return metrics.forward + metrics.backward_compute + metrics.optimizer -
             metrics.lost_to(LossCause::tensor) - metrics.lost_to(LossCause::context) -
             metrics.lost_to(LossCause::expert);
    case Of::data:
      return metrics.exposed_communication;
    case Of::tensor:
      return metrics.lost_to(LossCause::tensor);
    case Of::context:
      return metrics.lost_to(LossCause::context);
    case Of::expert:
      return metrics.lost_to(LossCause::expert);
    case Of::step:
      break;
  }
  return metrics.iteration;
}

// By how much more than their hidden part collectives come out that take `factor` times as long: from the
// first one's start to the last one's end there is room for what fits.
Seconds squeezed_out(const IterationMetrics& metrics, const RankTimeline& rank, double factor) {
  if (rank.communication.empty()) return {};
  Seconds end;
  for (const auto& span : rank.communication) end = std::max(end, span.end);
  return factor * metrics.communication - (end - rank.communication.front().start);
}

// Logarithms of how much longer, and shorter, the iteration may be.
struct Reach {
  double up = 0, down = 0;
};

Reach reach_of(std::span<const Doubt> same, const IterationMetrics& metrics, const RankTimeline& rank) {
  double longer = 0, shorter = 0;  // shares of the iteration
  for (const auto& doubt : same) {
    auto more = (doubt.factor - 1) * part_of(metrics, doubt.of);
    bool has_bubbles = metrics.shared_model && metrics.shared_model->pipeline > 1;
    if (doubt.of == Of::data && !has_bubbles)
      more = std::max(more, squeezed_out(metrics, rank, doubt.factor));
    longer += more / metrics.iteration;
    shorter += (1 - 1 / doubt.factor) * (part_of(metrics, doubt.of) / metrics.iteration);
  }
  return {std::log1p(longer), -std::log1p(-shorter)};
}

}  // namespace

std::optional<IterationRange> iteration_range(const Scenario& scenario, const IterationMetrics& metrics,
                                              const RankTimeline& rank,
                                              const std::optional<PhysicsEnds>& physics) {
  IterationRange range{metrics.iteration, metrics.iteration};
  double up = 0, down = 0;  // squares
  auto add = [&](std::string name, const Reach& reach) {
    up += reach.up * reach.up, down += reach.down * reach.down;
    range.causes.push_back({std::move(name), reach.up, reach.down});
  };
  if (physics) {
    const auto& ends = *scenario.physics.range;
    if (ends.least.interference != ends.most.interference) range.of.emplace_back("interference");
    if (ends.least.spread != ends.most.spread) range.of.emplace_back("the spread of GPUs");
    add("physics", {std::max(0.0, std::log(physics->most / metrics.iteration)),
                    std::max(0.0, std::log(metrics.iteration / physics->least))});
  }
  auto doubts = scenario.doubts;
  std::stable_sort(doubts.begin(), doubts.end(),
                   [](const Doubt& a, const Doubt& b) { return a.what < b.what; });
  for (auto first = doubts.begin(); first != doubts.end();) {
    auto end = std::find_if(first, doubts.end(), [&](const Doubt& one) { return one.what != first->what; });
    auto reach = reach_of({first, end}, metrics, rank);
    // What the iteration does not wait for it may still come to wait for.
    if (reach.up > 0 || reach.down > 0) range.of.push_back(first->what);
    add(first->what, reach);
    first = end;
  }
  if (range.of.empty()) return std::nullopt;
  range.least = std::exp(-std::sqrt(down)) * metrics.iteration;
  range.most = std::exp(std::sqrt(up)) * metrics.iteration;
  return range;
}

}  // namespace ddpsim
