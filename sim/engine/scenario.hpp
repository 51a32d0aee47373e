#pragma once
// Everything one run needs, already validated.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/base/source.hpp"
#include "sim/collective/measured_cost.hpp"
#include "sim/compute/model_step.hpp"
#include "sim/compute/operator_times.hpp"
#include "sim/cost/communication.hpp"
#include "sim/ddp/reduction_plan.hpp"
#include "sim/engine/doubt.hpp"
#include "sim/engine/parallel_step.hpp"
#include "sim/engine/validation_settings.hpp"
#include "sim/program/host.hpp"
#include "sim/program/physics.hpp"
#include "sim/replay/fidelity.hpp"
#include "sim/strategy/strategy.hpp"
#include "sim/trace/layer_trace.hpp"
#include "sim/variability/expected_slowest.hpp"
#include "sim/variability/goodput.hpp"
#include "sim/variability/sampled_ranks.hpp"

namespace ddpsim {

// Who shares links out where they are shared (engine.network): this project's own network, or SimGrid, which
// it is held to.
enum class SharedNetwork { builtin, simgrid };
inline constexpr Names<SharedNetwork, 2> kSharedNetworkNames{
    {{"builtin", SharedNetwork::builtin}, {"simgrid", SharedNetwork::simgrid}}};

// Ranks with the same compute speed: one stands for all. slowdown > 0 multiplies every compute time.
struct RankClass {
  int rank = 0;  // the lowest of them
  int ranks = 1;
  double slowdown = 1;
  // Of Communication's groups those that it is in, by axis; empty: of each axis that of its RankGroup.
  std::vector<std::size_t> communicators = {};
  std::vector<int> stragglers = {};    // all of them, where they are few and slower than others
  std::size_t program = 0;             // of a pipeline: its stage
  std::vector<AlikeNodes> nodes = {};  // likewise: what each of its nodes holds of the stage
  bool operator==(const RankClass&) const = default;
};

// Ranks that reduce their gradients with one another, each group the whole model.
struct RankGroup {
  int ranks = 0;
  std::vector<RankClass> rank_classes;  // by lowest rank; without the spread
  Seconds offset;                       // it starts its iteration so much later
  int label = 0;                        // groups of one wait for the slowest of all of them, where ranks vary
  std::vector<AlikeNodes> nodes = {};   // what each of its nodes holds; empty: one has all

  // The class whose compute takes longest; it is always (one of) the last to finish. Lowest rank among
  // equals.
  [[nodiscard]] const RankClass& slowest_class() const;
  bool operator==(const RankGroup&) const = default;
};

// A section or key that is given and makes no difference.
struct UnusedKey {
  std::string path;
  std::string_view counts_in;  // where it would: "strategy zero3"
  SourceSpan place;
};

struct Scenario {
  std::shared_ptr<const LayerTrace> trace;       // with workload.scale_bytes applied
  std::shared_ptr<const ModelStep> model_step;   // of a transformer, where it is no recorded trace
  std::shared_ptr<const RecordedWork> recorded;  // a script's step, where the workload is one
  int world_size = 0;                            // all groups together
  std::vector<RankGroup> groups;
  const Strategy* strategy = nullptr;  // null: nobody asks which
  DdpOptions ddp;
  ReductionPlan plan;
  // Null: naive, flat, overlap and ddp; else whose buckets the plan's are.
  std::shared_ptr<const StrategyPlan> strategy_plan;
  // Where GPUs share a copy of the model; then the plan has no buckets, and groups are one job.
  std::shared_ptr<const ParallelStep> parallel;
  // How long an all-reduce takes: exactly one of the two.
  std::shared_ptr<const Communication> communication;
  std::shared_ptr<const MeasuredTable> measured_table;
  int collective_workers = 1;  // collectives of a group that can be in flight at once
  Host host;
  std::optional<double> price;            // of a GPU and hour
  std::optional<double> training_tokens;  // of the whole training
  std::optional<Failures> failures;
  std::optional<std::string> gpu;  // the cluster's, where it is known: whose physics these are
  Physics physics;
  std::shared_ptr<const SampledRanks> sampled;  // null: every iteration is the same; by group label
  std::optional<double>
      weather;  // the quantile of the share that the fabric gives (`sampled` knows the shares); none: all
  Fidelity fidelity = Fidelity::lazy;
  SharedNetwork network = SharedNetwork::builtin;
  ValidationSettings validation;
  std::vector<UnusedKey> unused_keys;
  std::vector<Note> notes;  // what its reader found worth saying
  std::vector<Doubt> doubts;
  std::shared_ptr<const Evidence> evidence;  // null: nobody asks how sure a prediction is
  // How many times as long collectives take, by axis of the communication ("data" of a measured table).
  std::map<std::string, double> slower = {};

  // Whether there is a strategy of which it is so.
  [[nodiscard]] bool is(bool StrategyTraits::*trait) const { return strategy && strategy->traits.*trait; }
  [[nodiscard]] std::string algorithm() const;
  [[nodiscard]] std::string_view network_name() const;  // "alone" where nothing is simulated
  [[nodiscard]] HeldStates held_states() const;         // of a model that no GPUs share
  // What a GPU holds at its peak; none: of a trace or a program, which do not say it.
  [[nodiscard]] std::optional<MemoryParts> memory() const;
  // Of a recorded script, by recording.
  [[nodiscard]] std::vector<MemoryParts> memory_of_recordings() const;
  // Whether ranks have different programs: stages of a pipeline.
  [[nodiscard]] bool has_stages() const;
  // Whether its compute is timed by law: of a transformer or a recorded script, on a GPU with a software.
  [[nodiscard]] bool is_timed_by_law() const { return model_step || recorded; }
  [[nodiscard]] const GpuDescription& gpu_of_law() const {
    return recorded ? recorded->gpu : model_step->gpu;
  }
  [[nodiscard]] const Software& software() const {
    return recorded ? recorded->software : model_step->software;
  }
  [[nodiscard]] Precision precision() const {
    return recorded ? recorded->precision : model_step->step.precision;
  }
  // DataParallel: of all GPUs but 0, which holds more.
  [[nodiscard]] std::optional<Bytes> memory_of_others() const;
  // Of a model's blocks those that its backward pass computes again.
  [[nodiscard]] double recomputed_share() const;
  // Whether workers of parameter servers wait for no other.
  [[nodiscard]] bool is_asynchronous() const;
  // Whether collectives meet on links: those of several groups, of one with several in flight, or somebody
  // else's traffic.
  [[nodiscard]] bool shares_links() const;
  // Whether simulating it takes what a process has only one of: SimGrid's engine.
  [[nodiscard]] bool uses_up_process() const {
    return fidelity != Fidelity::closed_form && network == SharedNetwork::simgrid;
  }
};

double largest_slowdown(std::span<const RankGroup> groups);
// Its groups, each with a rank as slow as the slowest is on average under the spread.
std::vector<RankGroup> groups_with_spread(const Scenario& scenario);

// As if the model, or the recorded script, ran with another software. Its gradients stay the same, and so
// does the plan.
void set_software(Scenario& scenario, const Software& software);
// After its trace's times have changed.
void retime_plan(Scenario& scenario);

}  // namespace ddpsim
