#pragma once
// Carries out one unit of a stage on a network: starts each flow's next step as soon as what it waits for is
// there.
#include <functional>
#include <vector>

#include "sim/collective/flow_network.hpp"
#include "sim/collective/flow_plan.hpp"
#include "sim/collective/fluid_network.hpp"

namespace ddpsim {

// Where a unit is that advances in rounds, independent of the network it runs on.
struct FlowProgress {
  struct UnderWay {
    std::size_t flow;
    Seconds latency_left;  // zero: it is sending
    Bytes bytes_left;
  };
  struct Channel {
    int round = 0;
    std::vector<UnderWay> flows;  // that have not ended in this round; none: the channel has ended
  };
  std::vector<Channel> channels;
  [[nodiscard]] bool is_over() const;
};

class FlowRun {
 public:
  // `unit` outlives the run. `done` is called when every flow has done all its steps; it may destroy the run.
  FlowRun(FlowNetwork& network, const FlowUnit& unit, Bytes buffer, std::function<void()> done);
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  void start(int round = 0);  // a later round: of a single channel that advances in rounds
  // Goes on from where another run of such channels was.
  void resume(const FlowProgress& progress);
  [[nodiscard]] FlowProgress progress(const FluidNetwork& network) const;

  // Asked after each round of a channel that is not its last: true stops the run there for good.
  std::function<bool(int rounds_done)> stop_between_rounds;

 private:
  enum class Phase { idle, latency, sending };
  struct FlowState {
    int done = 0;  // steps (Coupling::neighbour)
    Phase phase = Phase::idle;
    Seconds latency_end;
    int transfer = 0;  // the network's number
  };
  struct ChannelState {
    const FlowChannel* channel;
    int steps;
    Bytes chunk;
    std::vector<FlowState> flows;
    std::size_t pending;  // flows that have not ended: in this round, or at all (Coupling::neighbour)
    int round = 0;
  };

  void start_round(ChannelState& state);
  void finish_round(ChannelState& state);
  void try_start(ChannelState& state, std::size_t flow);
  void wait_latency(ChannelState& state, std::size_t flow, Seconds latency);
  void send(ChannelState& state, std::size_t flow, Bytes bytes);
  void arrive(ChannelState& state, std::size_t flow);
  void finish_channel();

  FlowNetwork& network_;
  std::vector<ChannelState> channels_;
  std::size_t channels_left_;
  std::function<void()> done_;
};

}  // namespace ddpsim
