// A recorded step as it is (`workload.recording`): what the script does on its streams, on every rank.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/program/recorded_program.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

const RecordedStep& step_of(const LayerTrace& trace) {
  if (!trace.step)
    throw InputError("strategy recorded is of a recorded script", "name its file: workload.recording")
        .about("strategy");
  return *trace.step;
}

struct RecordedPlan final : StrategyPlan {
  [[nodiscard]] ReductionPlan reductions(const LayerTrace&, int accumulation_steps) const override {
    ReductionPlan plan;
    plan.accumulation_steps = accumulation_steps;
    return plan;
  }
  [[nodiscard]] StepProgram program(const LayerTrace& trace, int, const Overheads&) const override {
    StepProgram step;
    step.program = recorded_program(step_of(trace));
    step.before_last_backward = before_last_backward_of(step.program);
    return step;
  }
  [[nodiscard]] HeldStates held(const HeldOf&) const override { return {}; }
};

// That all ranks do as one does.
void check_collectives(const Recording& recording) {
  auto groups = recorded_groups(recording);
  for (const auto& item : recording.items) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    if (!one || std::ranges::count(groups, one->group) == 0) continue;
    if (one->operation && is_pair(*one->operation))
      throw InputError(one->place, "a stage of a pipeline: what the other stages do is not in its recording",
                       "record a script without stages; models by their sizes have parallelism.pipeline");
    const auto& group = recording.groups[one->group];
    auto of_set = static_cast<std::int64_t>(group.count) * group.stride;
    if (!group.ranks.empty() || group.first % of_set >= group.stride)
      throw InputError(one->place,
                       fmt::format("its group '{}' is not one of sets of {} ranks that tile the job",
                                   group.name, group.count),
                       "groups along the axes of a device mesh are simulated");
  }
}

class Recorded final : public Strategy {
 public:
  // Sharded as far as it casts gradients itself.
  Recorded()
      : Strategy({.name = "recorded", .is_sharded = true, .is_of_recording = true, .knows_memory = false}) {}

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    const auto& recording = *step_of(input.trace).recording;
    if (input.world_size != recording.world_size)
      throw InputError(fmt::format("the script was recorded as one of {} ranks, and the job has {}",
                                   recording.world_size, input.world_size),
                       fmt::format("record it again: ddpsim record --world-size {} -- {}", input.world_size,
                                   recording.script.empty() ? "train.py" : recording.script.front()))
          .about("cluster.world_size");
    if (input.ranks != input.world_size)
      throw InputError("a recorded script runs on all ranks together", "remove cluster.groups")
          .about("cluster.groups");
    if (input.choice.ddp.accumulation_steps != 1)
      throw InputError("the recording has the script's own micro-batches",
                       "remove ddp.accumulation_steps and batch.global")
          .about("strategy");
    return std::make_shared<RecordedPlan>();
  }

  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    if (!choice.recording) return {CommunicatorUse()};
    const auto& recording = *choice.recording;
    check_collectives(recording);
    auto groups = recorded_groups(recording);
    auto operations = recorded_operations(recording);
    std::vector<CommunicatorUse> all;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto& group = recording.groups[groups[i]];
      auto name = group.name.empty() ? fmt::format("group {}", groups[i]) : group.name;
      if (group.count == recording.world_size)
        all.push_back({"data", Joined::all, operations[i]});
      else
        all.push_back({name, Joined::sets, operations[i], group.count, group.stride});
    }
    if (all.empty()) all.emplace_back();  // nothing is done on it
    return all;
  }
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads&) const override {}
};
const Recorded kRecorded;

}  // namespace

StrategyFamily recorded_family() {
  return {{&kRecorded}};
}

}  // namespace ddpsim
