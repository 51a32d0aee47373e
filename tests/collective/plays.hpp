#pragma once
// Plays collectives on a FluidNetwork.
#include <deque>
#include <functional>
#include <vector>

#include "sim/collective/flow_run.hpp"
#include "sim/collective/fluid_network.hpp"
#include "sim/collective/fold.hpp"

namespace ddpsim::testing {

// How long a unit takes from its start to its end.
inline Seconds play(const FlowUnit& unit, std::span<const BytesPerSecond> links, Bytes buffer) {
  FluidNetwork network(links);
  Seconds end(-1);
  FlowRun run(network, unit, buffer, [&] { end = network.now(); });
  run.start();
  network.run();
  return end;
}

// The stages of a plan one after the other, the units of each at once.
class PlanPlay {
 public:
  PlanPlay(FlowNetwork& network, const FlowPlan& plan, Bytes buffer, std::function<void()> done)
      : network_(network), plan_(plan), buffer_(buffer), done_(std::move(done)) {}
  PlanPlay(const PlanPlay&) = delete;
  PlanPlay& operator=(const PlanPlay&) = delete;

  void start_stage() {
    if (next_stage_ == plan_.stages.size()) return done_();
    const auto& units = plan_.stages[next_stage_++].units;
    units_left_ = units.size();
    for (const auto& unit : units)
      runs_
          .emplace_back(network_, unit, buffer_,
                        [this] {
                          if (--units_left_ == 0) start_stage();
                        })
          .start();
  }

 private:
  FlowNetwork& network_;
  const FlowPlan& plan_;
  Bytes buffer_;
  std::function<void()> done_;
  std::deque<FlowRun> runs_;
  std::size_t next_stage_ = 0;
  std::size_t units_left_ = 0;
};

// When a group launches its collective, and of how much.
struct Launch {
  Seconds at;
  Bytes buffer;
};

// When each group of the traffic ends, launched so (by group), with the background flows going on for ever.
inline std::vector<Seconds> play(const TrafficPlan& plan, const std::vector<Launch>& launches) {
  FluidNetwork network(plan.links);
  for (const auto& route : plan.background) network.transfer(route, Bytes(1e30), [] {});
  std::vector<Seconds> ends(launches.size(), Seconds(-1));
  std::deque<PlanPlay> plays;
  for (const auto& group : plan.groups) {
    const auto& launch = launches.at(group.members.front());
    auto& play = plays.emplace_back(network, group.plan, launch.buffer, [&] {
      for (auto member : group.members) ends.at(member) = network.now();
    });
    network.after(launch.at, [&play] { play.start_stage(); });
  }
  network.run();
  return ends;
}

}  // namespace ddpsim::testing
