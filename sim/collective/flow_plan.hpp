#pragma once
// A schedule as the executors carry it out: channels of flows with what each flow waits for. Either every
// edge of the schedule is a flow (unfold), or one flow stands for all edges that behave alike (fold).
#include <vector>

#include "sim/base/units.hpp"
#include "sim/collective/schedule.hpp"

namespace ddpsim {

struct Flow {
  std::vector<int> route;  // link ids; a link that carries k flows like this one is listed k times
  Seconds latency;
  double piece = 1;  // of a chunk
  int level = 0;     // of a pipeline: the round in which it carries the first chunk
};

// neighbour: a flow starts its step s once it and the flow before it in the ring have done step s-1.
// rounds: the flows that carry something in a round start together, and the next round starts when all have
// ended. A ring's flows all carry something in each round.
enum class Coupling { neighbour, rounds };

struct FlowChannel {
  Coupling coupling = Coupling::neighbour;
  Chunking chunking;  // of the schedule's channel
  int last_level = 0;
  int copies = 1;  // channels of the schedule that this one stands for
  std::vector<Flow> flows = {};

  [[nodiscard]] int rounds(Bytes buffer) const { return chunking.steps(buffer) + last_level; }
};

// Of each edge of a pipeline: 0 without inputs, else one more than the highest level of its inputs.
std::vector<int> pipeline_levels(const Channel& channel);

// Channels that share links run together; those of different units have nothing to do with one another but
// the end of the stage.
struct FlowUnit {
  std::vector<FlowChannel> channels;
  std::vector<int> links;  // all they use, ascending
};

struct FlowStage {
  std::vector<FlowUnit> units;
};

struct FlowPlan {
  std::vector<FlowStage> stages;
};

// Groups channels that share links into units.
FlowStage into_units(std::vector<FlowChannel> channels);

// Flows of so many times the bytes, after as many times the latency.
FlowPlan slowed(FlowPlan plan, double factor);

// Every edge a flow.
FlowPlan unfolded(const CollectiveSchedule& schedule);

}  // namespace ddpsim
