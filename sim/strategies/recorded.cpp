// A recorded step as it is (`workload.recording`): what the script does on its streams, on every rank.
#include <utility>

#include "sim/program/recorded_order.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

struct RecordedPlan final : StrategyPlan {
  RecordedRanks ranks;
  [[nodiscard]] ReductionPlan reductions(const LayerTrace&, int accumulation_steps) const override {
    ReductionPlan plan;
    plan.accumulation_steps = accumulation_steps;
    return plan;
  }
  // Of the first recording.
  [[nodiscard]] StepProgram program(const LayerTrace& trace, int accumulation_steps,
                                    const Overheads& overheads) const override {
    return std::move(programs(trace, accumulation_steps, overheads).front());
  }
  [[nodiscard]] std::vector<StepProgram> programs(const LayerTrace& trace, int,
                                                  const Overheads&) const override {
    std::vector<StepProgram> all;
    for (auto& one : recorded_programs(trace.steps, ranks)) {
      auto& step = all.emplace_back();
      step.program = std::move(one.program);
      step.before_last_backward = before_last_backward_of(step.program);
    }
    return all;
  }
  [[nodiscard]] HeldStates held(const HeldOf&) const override { return {}; }
};

class Recorded final : public Strategy {
 public:
  // Sharded as far as it casts gradients itself.
  Recorded()
      : Strategy({.name = "recorded", .is_sharded = true, .is_of_recording = true, .knows_memory = false}) {}

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    if (input.trace.steps.empty())
      throw InputError("strategy recorded is of a recorded script", "name its file: workload.recording")
          .about("strategy");
    const auto& recordings = input.choice.recordings;
    auto plan = std::make_shared<RecordedPlan>();
    plan->ranks = recorded_ranks(recordings);
    if (input.ranks != input.world_size)
      throw InputError("a recorded script runs on all ranks together", "remove cluster.groups")
          .about("cluster.groups");
    if (input.choice.ddp.accumulation_steps != 1)
      throw InputError("the recording has the script's own micro-batches",
                       "remove ddp.accumulation_steps and batch.global")
          .about("strategy");
    if (recordings.size() > 1)
      check_order(recordings, plan->ranks, recorded_programs(input.trace.steps, plan->ranks));
    return plan;
  }

  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    std::vector<CommunicatorUse> all;
    if (!choice.recordings.empty())
      for (auto& one : recorded_ranks(choice.recordings).communicators) {
        auto joined = one.size == 0                                       ? Joined::listed
                      : one.size == choice.recordings.front()->world_size ? Joined::all
                                                                          : Joined::sets;
        all.push_back({one.name, joined, one.operations, one.size, one.stride, std::move(one.groups)});
      }
    if (all.empty()) all.emplace_back();  // nothing is done on it
    return all;
  }
  [[nodiscard]] std::vector<std::size_t> program_of_rank(const StrategyChoice& choice) const override {
    if (choice.recordings.empty()) return {};
    return recorded_ranks(choice.recordings).program_of_rank;
  }
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads&) const override {}
};
const Recorded kRecorded;

}  // namespace

StrategyFamily recorded_family() {
  return {{&kRecorded}};
}

}  // namespace ddpsim
