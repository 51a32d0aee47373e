#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/resolve/cluster.hpp"
#include "sim/resolve/sections.hpp"

namespace ddpsim {
namespace {

// Ranks as drawn: by the last gradient's spread and time, that of ranks and nodes, and what is said.
struct SampledKey {
  using Value = std::shared_ptr<const SampledRanks>;
  Seconds between_iterations, last_ready;
  double of_ranks, of_nodes;
  JobTexts texts;
  auto operator<=>(const SampledKey&) const = default;
  static std::size_t kept(const Value&) { return 200'000; }  // roughly
};

void check_weather(const GivenJob& given, const Variability& variability, const Scenario& scenario) {
  if (!variability.weather) return;
  const auto& place = given.at("variability.weather");
  if (!scenario.communication)
    throw InputError(place, "a measured table says nothing of the nodes between which the weather is",
                     "add cluster.topology and leave algorithm: measured out");
  if (scenario.communication->library)
    throw InputError(place,
                     fmt::format("weather is of links between GPUs, and {}'s times are those of hosts too",
                                 backend_words(scenario.communication->library->backend())),
                     "leave variability.weather out, or use backend: nccl");
  if (scenario.fidelity != Fidelity::closed_form)
    throw InputError(
        place,
        "weather of links that several share is not simulated: it is a share of what a collective gets alone",
        "one group, one collective at a time and no background, or leave variability.weather out");
}

// What GPUs differ in for the whole run: as said, or as calibrated.
void draw_spread(const GivenJob& given, Variability& variability, Scenario& scenario) {
  auto& spread = scenario.physics.spread;
  if (!variability.ranks && !variability.nodes) {
    if (spread.ranks > 0) variability.ranks = LogNormal{spread.ranks};
    if (spread.nodes > 0) variability.nodes = LogNormal{spread.nodes};
    return;
  }
  if (given.has("spread"))
    throw InputError(given.at("spread"), "variability.ranks and .nodes draw what GPUs differ in",
                     "remove 'spread', or those");
  const auto& vague = scenario.physics.range;
  bool is_calibrated = spread.ranks > 0 && !(vague && vague->least.spread != vague->most.spread);
  if (is_calibrated)
    scenario.notes.push_back(
        {"spread-replaced",
         fmt::format("variability draws what GPUs differ in, in place of the calibrated spread of {:.2g} %",
                     100 * spread.ranks)});
  spread = {};
}

}  // namespace

void sample(Files& files, const GivenJob& given, const RankPlaces& places, Scenario& scenario) {
  auto variability = variability_of(files, given, *scenario.trace);
  if (variability.is_off()) return;
  check_weather(given, variability, scenario);
  // What differs for the whole run is drawn too, once, with what differs between iterations.
  const auto& spread = scenario.physics.spread;
  if (variability.draws_ranks()) draw_spread(given, variability, scenario);
  // One run is drawn, and no range of what might have been.
  if (auto& range = scenario.physics.range; range && variability.draws_ranks()) {
    range->least.spread = range->most.spread = spread;
    if (range->least.interference == range->most.interference) range.reset();
  }
  if (variability.needs_nodes() && !places.knows_nodes)
    throw InputError(given.at("variability"), "without a topology nothing says which ranks a node holds",
                     "add cluster.topology, or let ranks vary instead of nodes");
  double draws = static_cast<double>(variability.iterations) * scenario.world_size;
  if (draws > kMostDraws)
    throw InputError(given.at("variability"),
                     fmt::format("{} iterations of {} ranks are more than a billion draws",
                                 variability.iterations, scenario.world_size),
                     "use fewer iterations");
  const auto& last = scenario.trace->gradients.back();
  auto between_iterations = last.ready_spread.value_or(Seconds(0));
  SampledKey key{between_iterations, last.ready, spread.ranks, spread.nodes,
                 texts_of(given, {"cluster", "parallelism", "workload.stragglers", "variability"})};
  scenario.sampled = files.once(
      key, [&] { return std::make_shared<const SampledRanks>(sample_ranks(variability, places.ranks)); });
}

}  // namespace ddpsim
