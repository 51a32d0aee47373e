#include "sim/collective/time_alone.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/collective/cycle_finder.hpp"

namespace ddpsim {

Seconds TimeAlone::play_round(Bytes buffer, int round) const {
  FluidNetwork network(capacities_);
  bool ended = false;
  FlowRun run(network, unit_, buffer, [&] { ended = true; });
  run.stop_between_rounds = [&](int) { return ended = true; };
  run.start(round);
  network.run();
  DDPSIM_CHECK(ended, "a round that nobody disturbs ends");
  return network.now();
}

Seconds TimeAlone::play_all(Bytes buffer) const {
  bool repeats = std::all_of(unit_.channels.begin(), unit_.channels.end(),
                             [](const auto& channel) { return channel.coupling == Coupling::rounds; });
  std::optional<FlowProgress> from;
  Seconds skipped;
  while (true) {
    FluidNetwork network(capacities_);
    CycleFinder cycle(unit_, buffer);
    std::optional<CycleFinder::Skip> skip;
    bool ended = false;
    FlowRun run(network, unit_, buffer, [&] { ended = true; });
    if (repeats)
      run.stop_between_rounds = [&](int) {
        network.stop();
        return false;
      };
    if (from)
      run.resume(*from);
    else
      run.start();
    do {
      network.run();
      if (repeats && !ended) skip = cycle.see(run.progress(network), network.now());
    } while (repeats && !ended && !skip);
    skipped += network.now();
    if (!skip) {
      DDPSIM_CHECK(ended, "a collective that nobody disturbs ends");
      return skipped;
    }
    skipped += skip->duration;
    from = std::move(skip->progress);
  }
}

const std::vector<TimeAlone::Rounds>& TimeAlone::rounds(Bytes buffer) {
  auto [it, is_new] = known_.try_emplace(buffer);
  auto& rounds = it->second;
  if (!is_new) return rounds;
  if (!can_stop_between_rounds()) {
    rounds.push_back({0, 1, play_all(buffer)});
    return rounds;
  }
  // Once the last level has its first chunk and until the first level runs out of them, all flows are active.
  const auto& channel = unit_.channels[0];
  int steps = channel.chunking.steps(buffer);
  for (int round = 0; round < channel.rounds(buffer);) {
    int count = round == channel.last_level && steps > round ? steps - round : 1;
    rounds.push_back({round, count, play_round(buffer, round)});
    round += count;
  }
  return rounds;
}

Seconds TimeAlone::rest(Bytes buffer, int rounds_done) {
  DDPSIM_CHECK(can_stop_between_rounds() || rounds_done == 0, "only a single channel stops between rounds");
  Seconds total;
  for (const auto& alike : rounds(buffer))
    if (int left = alike.first + alike.count - std::max(alike.first, rounds_done); left > 0)
      total += static_cast<double>(left) * alike.each;
  return total;
}

FlowProgress TimeAlone::progress(Bytes buffer, int rounds_done, Seconds elapsed) {
  int round = rounds_done;
  if (can_stop_between_rounds()) {
    for (const auto& alike : rounds(buffer)) {
      int left = alike.first + alike.count - std::max(alike.first, rounds_done);
      if (left <= 0) continue;
      // A hair before a round's end counts as its end: elapsed is a difference of clock times.
      double passed = std::min(std::floor(elapsed / alike.each + 1e-9), static_cast<double>(left));
      round += static_cast<int>(passed);
      elapsed = std::max(Seconds(0), elapsed - passed * alike.each);
      if (passed < left) break;
    }
    if (round == unit_.channels[0].rounds(buffer)) return {{{round, {}}}};
  }
  FluidNetwork network(capacities_);
  FlowRun run(network, unit_, buffer, [] {});
  run.start(round);
  network.run(elapsed);
  return run.progress(network);
}

CollectiveTime::CollectiveTime(const FlowPlan& plan, std::span<const BytesPerSecond> capacities) {
  for (const auto& stage : plan.stages) {
    auto& units = stages_.emplace_back();
    for (const auto& unit : stage.units) units.emplace_back(unit, capacities);
  }
}

Seconds CollectiveTime::of_stage(std::size_t stage, Bytes buffer) {
  Seconds slowest;
  for (auto& unit : stages_[stage]) slowest = std::max(slowest, unit(buffer));
  return slowest;
}

Seconds CollectiveTime::operator()(Bytes buffer) {
  Seconds total;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) total += of_stage(stage, buffer);
  return total;
}

}  // namespace ddpsim
