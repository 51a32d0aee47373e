#pragma once
// The closed form: how long a collective takes while nobody else uses its links, and how far it then is.
#include <map>
#include <span>
#include <vector>

#include "sim/collective/flow_run.hpp"

namespace ddpsim {

// Of one unit of a folded stage, for any buffer size. The rounds of a single channel repeat: a ring's are all
// alike, a pipeline's are alike once it is filled. Each kind of round is played through once on a
// FluidNetwork. Several channels that share links are played through together, less what they repeat
// (CycleFinder).
class TimeAlone {
 public:
  // `capacities` (by link id) and `unit` outlive this.
  TimeAlone(const FlowUnit& unit, std::span<const BytesPerSecond> capacities)
      : unit_(unit), capacities_(capacities) {}

  [[nodiscard]] Seconds operator()(Bytes buffer) { return rest(buffer, 0); }
  // Of what is left after some rounds of a unit that can stop between rounds.
  [[nodiscard]] Seconds rest(Bytes buffer, int rounds_done);
  // `elapsed` after `rounds_done` rounds were done.
  [[nodiscard]] FlowProgress progress(Bytes buffer, int rounds_done, Seconds elapsed);
  [[nodiscard]] bool can_stop_between_rounds() const { return unit_.channels.size() == 1; }

 private:
  // Some rounds that follow one another and are alike.
  struct Rounds {
    int first;
    int count;
    Seconds each;
  };
  [[nodiscard]] const std::vector<Rounds>& rounds(Bytes buffer);
  [[nodiscard]] Seconds play_round(Bytes buffer, int round) const;
  [[nodiscard]] Seconds play_all(Bytes buffer) const;

  const FlowUnit& unit_;
  std::span<const BytesPerSecond> capacities_;
  std::map<Bytes, std::vector<Rounds>> known_;  // several channels: all of it as one round
};

// Of a whole collective: its stages one after the other, each as long as its slowest unit.
class CollectiveTime {
 public:
  // `plan` and `capacities` outlive this.
  CollectiveTime(const FlowPlan& plan, std::span<const BytesPerSecond> capacities);
  [[nodiscard]] Seconds operator()(Bytes buffer);
  [[nodiscard]] Seconds of_stage(std::size_t stage, Bytes buffer);

 private:
  std::vector<std::vector<TimeAlone>> stages_;
};

}  // namespace ddpsim
