#pragma once
// What everybody asks of a strategy, whichever it is: what it communicates, its step, what it holds. Each is
// a file of sim/strategies, with its keys.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/compute/model_step.hpp"
#include "sim/cost/communication.hpp"
#include "sim/ddp/reduction_plan.hpp"
#include "sim/program/data_axis.hpp"
#include "sim/program/host.hpp"
#include "sim/strategy/communicators.hpp"
#include "sim/strategy/sections.hpp"
#include "sim/trace/recording.hpp"

namespace ddpsim {

class Strategy;

// What a job says to its strategy.
struct StrategyChoice {
  const Strategy* strategy = nullptr;
  DdpOptions ddp = {};
  Sections sections = {};                 // of the others
  DType computed = DType::bfloat16;       // what layers are computed in
  std::optional<int> shards = {};         // ranks that hold the parameters together; none: all that reduce
  std::optional<int> expert_shards = {};  // of experts that ranks share; none: they share none
  std::string architecture = {};          // of the GPUs, of a model; "volta"
  std::shared_ptr<const LoadedText> file = {};  // what the strategy's file says; null: it has none
  Recordings recordings = {};                   // the job's workload; empty: it is none
  bool operator==(const StrategyChoice&) const = default;
};

// Which part of a model a trace is: of a pipeline's stages, and of a rank's chunks of layers.
struct ModelPart {
  int stages = 1, chunks = 1;
  bool is_first = true;                  // the first chunk of the first stage
  std::optional<std::size_t> tied = {};  // the gradient of the matrix that first and last stage both have
  bool operator==(const ModelPart&) const = default;
};

// What a plan is made for.
struct PlanInput {
  const StrategyChoice& choice;
  const LayerTrace& trace;
  int ranks = 1;                                 // that reduce with one another
  int world_size = 1;                            // of all groups
  Host host = {};                                // of what is offloaded
  const ModelStep* step = nullptr;               // of a model; null: recorded
  const Communication* communication = nullptr;  // null: nobody asks what it takes
  ModelPart part = {};
  [[nodiscard]] int shards() const { return choice.shards.value_or(ranks); }
};

// Whose step it is, as one GPU has it.
struct HeldOf {
  const LayerTrace& trace;
  const ModelStep& step;
  bool gradients_are_views = false;  // of DistributedDataParallel's buckets
  int accumulation_steps = 1;
  double block_parameters = 0;  // elements of a block, of those that the trace has
};

// What may make a step shorter, in the words of --set.
struct StrategyTrial {
  std::string name;
  std::vector<std::string> settings;
};
struct TrialsOf {
  const LayerTrace& trace;
  int node_ranks = 1, world_size = 1;
};

// Of a trace on so many ranks: what is reduced when, and what is gathered.
class StrategyPlan {
 public:
  StrategyPlan() = default;
  StrategyPlan(const StrategyPlan&) = default;
  StrategyPlan& operator=(const StrategyPlan&) = default;
  virtual ~StrategyPlan() = default;
  // What is reduced, in launch order.
  [[nodiscard]] virtual ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const = 0;
  // The same of a trace whose times are others, and of the step that is known of it; null: it keeps none.
  [[nodiscard]] virtual std::shared_ptr<const StrategyPlan> retimed(const LayerTrace&,
                                                                    const ModelStep*) const {
    return nullptr;
  }
  // At work on that trace, which outlives it; null: it knows whole jobs only, and their program is its own.
  [[nodiscard]] virtual std::unique_ptr<DataAxis> at_work(const LayerTrace&, StepBuilder&) const {
    return nullptr;
  }
  // Of its program, where the whole model is one part.
  [[nodiscard]] virtual std::size_t communicators() const { return 1; }
  // A rank's step.
  [[nodiscard]] virtual StepProgram program(const LayerTrace& trace, int accumulation_steps,
                                            const Overheads& overheads) const {
    StepBuilder step(overheads, communicators());
    return step_of(step, *at_work(trace, step), accumulation_steps);
  }
  // By the programs of communicators(): where ranks have different steps.
  [[nodiscard]] virtual std::vector<StepProgram> programs(const LayerTrace& trace, int accumulation_steps,
                                                          const Overheads& overheads) const {
    std::vector<StepProgram> all;
    all.push_back(program(trace, accumulation_steps, overheads));
    return all;
  }
  // What a rank holds of a model.
  [[nodiscard]] virtual HeldStates held(const HeldOf& of) const = 0;
  [[nodiscard]] virtual std::vector<Note> notes(const PlanInput&) const { return {}; }
  // Besides what the rows of its keys say is worth trying.
  [[nodiscard]] virtual std::vector<StrategyTrial> trials(const TrialsOf&) const { return {}; }
  // What gradients are reduced in, where it is not their own type.
  [[nodiscard]] virtual std::optional<DType> reduced_in() const { return std::nullopt; }
  // Whether it runs modules by themselves, so that it counts when each ends its forward pass.
  [[nodiscard]] virtual bool needs_forward_ends() const { return false; }
  // Whether the order in which parameters were registered decides what is reduced when.
  [[nodiscard]] virtual bool follows_registration() const { return false; }
  // Whether workers wait for no other.
  [[nodiscard]] virtual bool is_asynchronous() const { return false; }
};

// What a job says of a strategy whose model is cut into stages.
struct StagesInput {
  const StrategyChoice& choice;
  std::function<bool(std::string_view path)> is_said;  // whether the job says a key
};

// What is said of a strategy, by itself.
struct StrategyTraits {
  std::string_view name;
  // Of PyTorch's DistributedDataParallel: its buckets have a cap, and one iteration differs from the next.
  bool is_ddp = false;
  bool all_reduces = false;  // every rank all-reduces all gradients, and steps
  bool is_sharded = false;   // a rank updates a part of the parameters only, whatever else of it is sharded
  // A group of ranks holds all parameters, and other groups hold them again.
  bool shards_within_groups = false;
  bool only_rings = false;  // it gathers, reduces and scatters, and all-reduces nothing
  // Whether GPUs may share the model: at all; by stages of a pipeline; by experts.
  bool shares_models = false, shares_stages = false, shares_experts = false;
  // It takes several ranks: what it shards, one of them would hold alone.
  bool needs_several = false;
  bool shards_weights = false;  // and gathers them as they are needed
  // One chooses it for a run of today: not those that are there to compare with, nor the older of PyTorch's
  // two implementations.
  bool is_usual = false;
  bool is_of_pytorch = false;
  bool has_gradient_hooks = false;  // it reduces gradients as they arrive, in hooks of theirs
  bool is_one_process = false;      // for all GPUs, of which the first does more
  bool has_servers = false;         // apart from ranks
  bool is_of_file = false;          // a job names its file: {program: FILE}
  bool is_of_recording = false;     // it does what a recorded script does, and is that one's usual strategy
  bool knows_memory = true;         // what a rank holds of a model
  // Weights and gradients are held in what is gathered: always, or of the stages of a pipeline.
  enum class Holds { model, gathered, gathered_by_stages } holds = Holds::model;
  [[nodiscard]] bool is_of_alike_ranks() const {
    return !shards_within_groups && !is_one_process && !has_servers;
  }
};

class Strategy {
 public:
  explicit Strategy(const StrategyTraits& its) : traits(its) {}
  Strategy(const Strategy&) = delete;
  virtual ~Strategy() = default;
  const StrategyTraits traits;
  [[nodiscard]] std::string_view name() const { return traits.name; }

  // Throws InputError about a key, where what is said contradicts itself or the trace.
  [[nodiscard]] virtual std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const = 0;
  // The program's, in its order.
  [[nodiscard]] virtual std::vector<CommunicatorUse> communicators(const StrategyChoice&) const {
    return {CommunicatorUse()};
  }
  // By rank which of the plan's programs is its; empty: all have the first.
  [[nodiscard]] virtual std::vector<std::size_t> program_of_rank(const StrategyChoice&) const { return {}; }
  // Ranks that hold the parameters together, where the job says it.
  [[nodiscard]] virtual std::optional<int> shard_group(const Sections&) const { return std::nullopt; }
  // What is gathered, where the job says it.
  [[nodiscard]] virtual std::optional<DType> gathered(const Sections&) const { return std::nullopt; }
  [[nodiscard]] virtual bool offloads(const Sections&) const { return false; }
  // Keys that, when true, keep as much as possible on the host.
  [[nodiscard]] virtual std::vector<std::string_view> keys_on_host() const { return {}; }
  // What its implementation copies (Overheads::passes, passes_of_one, compresses).
  virtual void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const {
    overheads.passes = overheads.passes_of_one = {1, 1};
  }
  // What its hooks take of a host, where nobody says it.
  [[nodiscard]] virtual Hooks hooks() const { return {}; }
  // Throws InputError about what it does of whole models, and not of parts of them.
  virtual void check_parts(const StrategyChoice&) const {}
  // Likewise of what it does not do of the stages of a pipeline.
  virtual void check_stages(const StagesInput&) const {}
};

// All of them, and the default (sim/strategies/list.cpp).
const std::vector<const Strategy*>& strategies();
const Strategy& usual_strategy();
// As a job says it, with its file where it is of one.
struct ChosenStrategy {
  const Strategy* strategy = &usual_strategy();
  std::string file = {};
  operator const Strategy*() const { return strategy; }  // NOLINT: it stands for the strategy
  const Strategy* operator->() const { return strategy; }
  bool operator==(const ChosenStrategy&) const = default;
};
// Null: there is none of that name.
const Strategy* find_strategy(std::string_view name);
// Of those that one chooses by a word, for whom it is so, in the order of the list.
template <class Is>
std::vector<std::string> strategies_that(Is is) {
  std::vector<std::string> names;
  for (const auto* strategy : strategies())
    if (!strategy->traits.is_of_file && !strategy->traits.is_of_recording && is(strategy->traits))
      names.emplace_back(strategy->name());
  return names;
}

}  // namespace ddpsim
