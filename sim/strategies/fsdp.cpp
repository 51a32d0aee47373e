// One strategy is one file, longer than others: keys, rules, program, memory.
#include "sim/strategies/fsdp.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/bucketed_plan.hpp"
#include "sim/strategies/families.hpp"
#include "sim/strategies/offload.hpp"

namespace ddpsim {
namespace {

using namespace keys;
using job::refuse, job::training_dtype;

class FsdpStrategy final : public Strategy {
 public:
  FsdpStrategy(FsdpKind kind, const StrategyTraits& its) : Strategy(its), kind_(kind) {}

  [[nodiscard]] static const FsdpOptions& options(const Sections& said) { return said.of<FsdpOptions>(); }
  [[nodiscard]] bool is_fsdp2() const { return kind_ == FsdpKind::fsdp2; }

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    try {
      auto said = options_of(input.choice);
      auto plan = make_fsdp_plan(input.trace, kind_, said, input.shards(), input.ranks / input.shards(),
                                 input.choice.computed);
      plan.expert_shards = input.choice.expert_shards;
      plan.host = input.host;
      if (input.part.stages > 1) plan.hold_gathered();
      return std::make_shared<const FsdpPlan>(std::move(plan));
    } catch (InputError& error) {
      throw std::move(error).about("fsdp.units");
    }
  }

  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    bool is_hybrid = traits.shards_within_groups;
    std::string axis = is_hybrid ? "shard" : "data";
    auto joined = is_hybrid ? Joined::shards : Joined::all;
    std::vector<CommunicatorUse> uses;
    if (options_of(choice).communicators == 2)
      uses = {{axis, joined, {Operation::all_gather}}, {axis, joined, {Operation::reduce_scatter}}};
    else
      uses = {{axis, joined, {Operation::all_gather, Operation::reduce_scatter}}};
    if (choice.expert_shards.value_or(1) > 1)
      uses.push_back({"expert_data", Joined::experts, {Operation::all_gather, Operation::reduce_scatter}});
    if (is_hybrid) uses.push_back({"replica", Joined::replicas, {Operation::all_reduce}});
    return uses;
  }

  [[nodiscard]] std::optional<int> shard_group(const Sections& said) const override {
    return traits.shards_within_groups ? options(said).shard_group : std::nullopt;
  }
  [[nodiscard]] std::optional<DType> gathered(const Sections& said) const override {
    return options(said).param_dtype;
  }
  [[nodiscard]] bool offloads(const Sections& said) const override { return options(said).cpu_offload; }
  [[nodiscard]] std::vector<std::string_view> keys_on_host() const override {
    return traits.shards_within_groups ? std::vector<std::string_view>()
                                       : std::vector<std::string_view>{"fsdp.cpu_offload"};
  }
  void check_parts(const StrategyChoice& choice) const override {
    if (offloads(choice.sections)) refuse_offload_of_parts("fsdp.cpu_offload");
  }

  void check_stages(const StagesInput& input) const override {
    const auto& said = options(input.choice.sections);
    for (auto [is_so, key] : {std::pair(said.reshard_after_forward, "reshard_after_forward"),
                              {said.reduce_every_micro_batch, "reduce_every_micro_batch"}})
      if (auto path = fmt::format("fsdp.{}", key); is_so && input.is_said(path))
        throw InputError(
            fmt::format("under a pipeline fsdp.{} is false, as in torchtitan: units stay gathered, "
                        "and gradients whole, until the last micro-batch is through",
                        key),
            "remove it, or use one stage")
            .about(path);
    for (auto [is_so, key] :
         {std::pair(!said.units.names.empty(), "units"), {said.reshard_last, "reshard_last"}})
      if (is_so)
        throw InputError(fmt::format("fsdp.{} of the stages of a pipeline is not simulated", key),
                         "remove it, or use one stage")
            .about(fmt::format("fsdp.{}", key));
  }

 private:
  // Where ranks share experts a block and its experts are a unit each, on one stream.
  static FsdpOptions options_of(const StrategyChoice& choice) {
    auto said = options(choice.sections);
    if (!choice.expert_shards) return said;
    said.units = {};
    said.units.experts_apart = true;
    said.communicators = 1;
    return said;
  }

  FsdpKind kind_;
};
constexpr StrategyTraits kOfAll{.name = {},
                                .is_sharded = true,
                                .shares_models = true,
                                .needs_several = true,
                                .shards_weights = true,
                                .is_of_pytorch = true,
                                .holds = StrategyTraits::Holds::gathered_by_stages};
StrategyTraits traits_of(std::string_view name, FsdpKind kind, bool is_hybrid) {
  auto traits = kOfAll;
  traits.name = name;
  traits.shards_within_groups = is_hybrid;
  traits.only_rings = !is_hybrid;
  traits.is_usual = kind == FsdpKind::fsdp2;
  traits.shares_stages = traits.shares_experts = kind == FsdpKind::fsdp2;
  return traits;
}
const FsdpStrategy kFsdpStrategies[]{{FsdpKind::fsdp2, traits_of("fsdp", FsdpKind::fsdp2, false)},
                                     {FsdpKind::fsdp1, traits_of("fsdp1", FsdpKind::fsdp1, false)},
                                     {FsdpKind::fsdp2, traits_of("hsdp", FsdpKind::fsdp2, true)},
                                     {FsdpKind::fsdp1, traits_of("hsdp1", FsdpKind::fsdp1, true)}};

const FsdpStrategy* fsdp_of(const Job& job) {
  return dynamic_cast<const FsdpStrategy*>(job.strategy.strategy);
}
const When kFsdp{[](const Job& job) { return fsdp_of(job) != nullptr; },
                 "strategies fsdp, fsdp1, hsdp and hsdp1"};
const When kFsdp2{[](const Job& job) { return fsdp_of(job) && fsdp_of(job)->is_fsdp2(); },
                  "strategies fsdp and hsdp"};
const When kNoExperts{[](const Job& job) { return job.parallelism.expert == 1; }, "parallelism.expert of 1"};
const When kHsdp{[](const Job& job) { return job.strategy->traits.shards_within_groups; },
                 "strategies hsdp and hsdp1"};

struct BlocksOrBytes {
  std::optional<int> layers;
  std::optional<Bytes> bytes;
};
// layer, a number of layers, or a size.
Type<UnitRule> unit() {
  constexpr auto kHint = "write layer, {layers: 2} or {bytes: 500MB}";
  auto section =
      nested(Rows<BlocksOrBytes>("fsdp.unit")
                 .key<&BlocksOrBytes::layers>("layers", maybe(whole(1, kMostBlocks)), "So many layers")
                 .key<&BlocksOrBytes::bytes>("bytes", maybe(size()), "As many as hold so many bytes")
                 .check([](const BlocksOrBytes& unit, const Cursor& at) {
                   if (unit.layers.has_value() == unit.bytes.has_value())
                     refuse(at, "", "a unit has a number of layers or a size",
                            "write {layers: 2} or {bytes: 500MB}");
                 }));
  return one_of<UnitRule>("a unit is a layer, so many layers, or as many as hold a size", kHint,
                          {OneOf<UnitRule>::Form{"layer",
                                                 {},
                                                 nullptr,
                                                 [](const Value&, UnitRule&, const Cursor&) {},
                                                 [](const UnitRule& rule) {
                                                   bool is_usual = rule.blocks == 1 && !rule.bytes;
                                                   return is_usual ? std::optional(scalar("layer"))
                                                                   : std::nullopt;
                                                 }},
                           is_like<UnitRule, BlocksOrBytes>(
                               section,
                               [](UnitRule& to, BlocksOrBytes from) {
                                 if (from.layers) to.blocks = *from.layers;
                                 to.bytes = from.bytes;
                               },
                               [](const UnitRule& from) {
                                 return std::optional(from.bytes ? BlocksOrBytes{{}, from.bytes}
                                                                 : BlocksOrBytes{from.blocks, {}});
                               },
                               "layers")});
}

Type<FsdpOptions> fsdp_rows() {
  using O = FsdpOptions;
  return nested(
      Rows<O>("fsdp")
          .key<&O::units>("unit", unit(), "What is gathered at once")
          .tries_sizes({"{layers: 2}", "{layers: 3}", "{layers: 4}", "{layers: 8}"})
          .when(kNoExperts)
          .key<&O::units, &UnitRule::names>(
              "units", list(text(), {1, "no module is named", "write [\"layers.*\"], or remove 'units'"}),
              "Modules by name")
          .when(kNoExperts)
          .key<&O::cpu_offload>("cpu_offload", boolean(), "Parameters and optimizer on the host")
          .key<&O::reshard_after_forward>("reshard_after_forward", boolean(), "As PyTorch")
          .tries({"true", "false"})
          .key<&O::reshard_last>("reshard_last", boolean(), "The last unit is resharded too")
          .when(kFsdp2)
          .key<&O::reduce_every_micro_batch>("reduce_every_micro_batch", boolean(), "Else once a step")
          .key<&O::param_dtype>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .key<&O::reduce_dtype>("reduce_dtype", maybe(training_dtype()), "What is reduced")
          .usually("fp32; fsdp1 and hsdp1: param_dtype")
          .key<&O::communicators>("communicators", whole(1, 2), "1, or 2: reductions beside gathers")
          .tries({"2"})
          .when(kNoExperts)
          .key<&O::shard_group>("shard_group",
                                word_or("node", whole(2, kLargestWorldSize),
                                        "write node, or how many ranks hold the model: 16"),
                                "HSDP: ranks that share a copy")
          .when(kHsdp)
          .check([](const O& fsdp, const Cursor& at) {
            if (!fsdp.units.names.empty() && at.has("unit"))
              throw InputError(at.places.key_at(at.in("unit").path),
                               "fsdp.unit and fsdp.units exclude each other", "remove one of the two");
            if (fsdp.reshard_last && !fsdp.reshard_after_forward)
              refuse(at, "reshard_last", "without fsdp.reshard_after_forward no unit is resharded",
                     "remove one of the two");
          }));
}

class FsdpAxis final : public DataAxis {
 public:
  FsdpAxis(const LayerTrace& trace, const FsdpPlan& plan, StepBuilder& step)
      : DataAxis(step),
        trace_(trace),
        plan_(plan),
        forward_(forward_passes(trace, plan.units)),
        backward_(backward_passes(trace, plan.units)) {
    reducing_ = static_cast<std::size_t>(plan.options.communicators - 1);
    experts_ = reducing_ + 1;
    replicas_ = reducing_ + (plan.expert_shards.value_or(1) > 1 ? 2 : 1);
    bucket_of_.resize(plan.units.size());
    std::size_t buckets = 0;
    for (auto unit = plan.units.size(); unit-- > 0;)
      if (plan.units[unit].trained > 0) bucket_of_[unit] = buckets++;
    is_reached_.resize(plan.units.size());
    for (const auto& pass : backward_)
      if (pass.duration > Seconds() || plan.units[pass.unit].trained > 0) is_reached_[pass.unit] = true;
  }

  // Of stages all units are gathered as the step begins.
  void begin() override {
    if (!plan_.holds_gathered) return;
    held_.resize(plan_.units.size());
    for (std::size_t unit = 0; unit < plan_.units.size(); ++unit) held_[unit] = gather(unit, {});
  }
  void forward(const Turn& turn) override {
    begin_ = step_.last_compute();
    copies_.clear();
    std::vector<bool> is_begun(plan_.units.size());
    for (const auto& [unit, duration] : forward_) {
      if (!is_begun[unit] && !is_kept_)
        take(unit, plan_.holds_gathered ? held_[unit] : gather(unit, before_gather(2)));
      is_begun[unit] = true;
      auto op = step_.compute(Activity::forward, turn.micro_batch, duration);
      if (unit > 0 && plan_.options.reshard_after_forward) freed_.emplace_back(op);
    }
    is_kept_ |= plan_.holds_gathered;
    step_.start_last_backward();
  }
  void backward(const Turn& turn) override {
    bool reduces = turn.is_last || plan_.options.reduce_every_micro_batch;
    std::vector<std::optional<std::size_t>> gathers(plan_.units.size());
    std::vector<bool> is_asked(plan_.units.size());  // for its gather; the root is there
    if (!is_fsdp2()) limit();                        // before the root as well
    auto ask = [&](std::size_t unit) {
      is_asked[unit] = true;
      if (!is_gathered_again(unit)) return;
      gathers[unit] = gather(unit, before_gather(1));
      if (!gathers[unit]) take(unit, {});
    };
    for (std::size_t i = 0; i < backward_.size(); ++i) {
      const auto& [unit, duration] = backward_[i];
      is_asked[unit] = true;
      if (auto gathered = std::exchange(gathers[unit], {})) take(unit, gathered);
      auto of_unit = [&, is = unit](const UnitPass& pass) { return pass.unit == is; };
      auto rest = backward_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      auto next = std::find_if(rest, backward_.end(), [&](const auto& pass) { return !is_asked[pass.unit]; });
      if (next != backward_.end()) ask(next->unit);
      auto op = step_.compute(Activity::backward, turn.micro_batch, turn.pace * duration);
      // The embeddings' gradients come last, and a block's after those of its experts.
      if (std::any_of(rest, backward_.end(), of_unit)) continue;
      freed_.emplace_back(op);
      if (plan_.units[unit].trained == 0) continue;
      if (turn.is_last) step_.set_ready(bucket_of_[unit]);
      if (!reduces) continue;
      if (plan_.holds_gathered)
        due_.push_back(unit);
      else
        reduce(unit);
    }
    is_kept_ = plan_.holds_gathered || (!is_fsdp2() && !plan_.options.reshard_after_forward && !reduces);
  }
  void finish() override {
    for (auto unit : due_) reduce(unit);
    for (auto last : last_reductions()) step_.wait(last);
  }
  [[nodiscard]] Seconds optimizer() const override {
    if (!plan_.options.cpu_offload) return trace_.optimizer.value_or(Seconds()) / plan_.ranks_that_step();
    return plan_.host.adam(static_cast<double>(total_elements(trace_)) / plan_.shards);
  }
  [[nodiscard]] bool steps_on_host() const override { return plan_.options.cpu_offload; }

 private:
  [[nodiscard]] bool is_fsdp2() const { return plan_.kind == FsdpKind::fsdp2; }

  // Of its shard, to the host or from it.
  [[nodiscard]] Seconds offload(std::size_t unit, bool of_gradients) const {
    if (!plan_.options.cpu_offload) return {};
    Bytes bytes;
    for (auto gradient : plan_.units[unit].gradients)
      if (const auto& one = trace_.gradients[gradient]; !of_gradients || !one.is_frozen) bytes += one.bytes();
    return plan_.host.copy(bytes / plan_.shards);
  }

  // On either communicator.
  [[nodiscard]] std::vector<std::size_t> last_reductions() const {
    std::vector<std::size_t> ops;
    for (auto last : {last_reduction_, last_copy_})
      if (last) ops.push_back(*last);
    return ops;
  }

  // On one stream, whatever their communicator; none: experts that a rank alone has.
  std::optional<std::size_t> gather(std::size_t unit, std::vector<std::size_t> after) {
    if (!is_sharded(unit)) return std::nullopt;
    auto communicator = plan_.units[unit].of_experts ? experts_ : 0;
    if (last_gather_ && last_gather_->first != communicator) after.push_back(last_gather_->second);
    auto op = step_.collective(communicator, Activity::all_gather, Operation::all_gather, unit,
                               plan_.gathered(unit), std::move(after), offload(unit, false));
    last_gather_ = {communicator, op};
    return op;
  }
  [[nodiscard]] bool is_sharded(std::size_t unit) const {
    const auto& own = plan_.units[unit];
    return own.elements > 0 && (!own.of_experts || plan_.shards_of(unit) > 1);
  }

  // A unit's parameters are there: FSDP2 copies them out of the gathered buffer, FSDP1's are views of it.
  void take(std::size_t unit, std::optional<std::size_t> gathered) {
    if (gathered) step_.wait(*gathered);
    copies_.push_back(step_.compute(
        Activity::copy_out, unit,
        is_fsdp2() ? step_.pass_time(step_.passes().out, 2 * plan_.gathered(unit)) : Seconds()));
  }

  // What the next gather waits for. FSDP2: a copy out of a gathered buffer of this micro batch, the second to
  // last one in the forward pass, the last one in the backward pass. FSDP1: whatever the host has waited for.
  // The first gather of a micro batch waits for all of the one before.
  std::vector<std::size_t> before_gather(std::size_t copies_behind) {
    auto after = copies_.empty() ? last_reductions() : std::vector<std::size_t>();
    auto last = begin_;
    if (!is_fsdp2())
      last = limit();
    else if (copies_.size() >= copies_behind)
      last = copies_[copies_.size() - copies_behind];
    if (last) after.push_back(*last);
    return after;
  }

  // FSDP1's host waits for the oldest of the units that it has freed where there are two that it has not
  // waited for (_limiter_utils.py).
  std::optional<std::size_t> limit() {
    if (freed_.size() >= 2) {
      begin_ = std::max(begin_, freed_.front());
      freed_.pop_front();
    }
    return begin_;
  }

  // The root is gathered still.
  [[nodiscard]] bool is_gathered_again(std::size_t unit) const {
    const auto& units = plan_.units;
    bool is_last = unit + 1 == units.size() || (unit + 2 == units.size() && units.back().of_experts);
    return plan_.options.reshard_after_forward && unit > 0 && is_reached_[unit] &&
           (!is_last || !is_fsdp2() || plan_.options.reshard_last);
  }

  void reduce(std::size_t unit) {
    if (plan_.units[unit].trained == 0) return;
    bool casts = plan_.reduce_dtype != plan_.param_dtype;
    auto copied = plan_.gathered(unit) + plan_.reduced(unit);
    if (is_fsdp2() && last_reduction_) step_.wait(*last_reduction_);
    if (is_fsdp2() || casts)
      step_.compute(Activity::copy_in, bucket_of_[unit], step_.pass_time(step_.passes().in, copied));
    auto done = *step_.last_compute();
    if (is_sharded(unit)) {
      auto communicator = plan_.units[unit].of_experts ? experts_ : reducing_;
      done = step_.collective(communicator, Activity::reduce_scatter, Operation::reduce_scatter,
                              bucket_of_[unit], plan_.reduced(unit), {done},
                              plan_.replicas > 1 ? Seconds() : offload(unit, true));
      last_reduction_ = done;
    }
    if (plan_.replicas > 1)
      last_copy_ = step_.collective(replicas_, Activity::all_reduce, Operation::all_reduce, bucket_of_[unit],
                                    plan_.reduced(unit) / plan_.shards_of(unit), {done}, offload(unit, true));
  }

  const LayerTrace& trace_;
  const FsdpPlan& plan_;
  std::vector<UnitPass> forward_, backward_;
  std::vector<std::size_t> bucket_of_;      // by unit, where it has gradients
  std::vector<bool> is_reached_;            // by the backward pass, which ends at the first that is trained
  std::size_t reducing_ = 0;                // the communicator of reduce-scatters
  std::size_t experts_ = 0, replicas_ = 0;  // of experts that ranks share; of copies
  std::optional<std::pair<std::size_t, std::size_t>> last_gather_;  // its communicator and op
  std::optional<std::size_t> last_reduction_;
  std::optional<std::size_t> last_copy_;  // to the other groups
  std::optional<std::size_t> begin_;      // of a micro batch; FSDP1: or what the host has waited for since
  std::vector<std::size_t> copies_;
  // The four that the step before leaves are over.
  std::deque<std::optional<std::size_t>> freed_ = std::deque<std::optional<std::size_t>>(4);
  // Units stay gathered for the next micro batch: SHARD_GRAD_OP under no_sync, or stages.
  bool is_kept_ = false;
  std::vector<std::optional<std::size_t>> held_;  // stages: the units' gathers
  std::vector<std::size_t> due_;                  // and those that are to be reduced
};

Bytes bytes_as(std::int64_t elements, DType dtype) {
  return Bytes(static_cast<double>(elements) * bytes_per_element(dtype));
}

}  // namespace

StrategyFamily fsdp_family() {
  StrategyFamily family;
  for (const auto& one : kFsdpStrategies) family.strategies.push_back(&one);
  family.add_rows = [](Rows<Job>& to) {
    to.at<FsdpOptions>(
          "fsdp", fsdp_rows(), [](Job& job) -> FsdpOptions& { return job.sections.of<FsdpOptions>(); },
          "FSDP and HSDP")
        .when(kFsdp);
  };
  return family;
}

Bytes FsdpPlan::gathered(std::size_t unit) const {
  return bytes_as(units[unit].elements, param_dtype);
}

Bytes FsdpPlan::reduced(std::size_t unit) const {
  return bytes_as(units[unit].trained, reduce_dtype);
}

double FsdpPlan::ranks_that_step() const {
  if (!expert_shards) return shards;
  double all = 0, held = 0;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    all += static_cast<double>(units[unit].trained);
    held += static_cast<double>(units[unit].trained) / shards_of(unit);
  }
  return held > 0 ? all / held : shards;
}

// What nobody says is reduced in: FSDP1's MixedPrecision takes the dtype of the parameters (_flat_param.py,
// _init_param_reduce_dtypes), and of fully_shard's users most say float32, as torchtitan does.
FsdpPlan make_fsdp_plan(const LayerTrace& trace, FsdpKind kind, const FsdpOptions& options, int shards,
                        int replicas, DType computed) {
  FsdpPlan plan;
  plan.kind = kind;
  plan.options = options;
  plan.param_dtype = options.param_dtype.value_or(computed);
  plan.reduce_dtype =
      options.reduce_dtype.value_or(kind == FsdpKind::fsdp1 ? plan.param_dtype : DType::float32);
  plan.shards = shards;
  plan.replicas = replicas;
  plan.units = shard_units(trace, options.units);
  return plan;
}

ReductionPlan FsdpPlan::reductions(const LayerTrace& trace, int accumulation_steps) const {
  ReductionPlan result;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
    order->insert(order->end(), unit->gradients.begin(), unit->gradients.end());
  std::size_t at = 0;
  for (auto u = units.size(); u-- > 0;) {
    const auto& unit = units[u];
    std::span<const std::size_t> gradients(order->data() + at, unit.gradients.size());
    at += unit.gradients.size();
    if (unit.trained == 0) continue;
    Bytes bytes;
    for (auto gradient : gradients)
      if (!trace.gradients[gradient].is_frozen) bytes += trace.gradients[gradient].bytes();
    result.buckets.push_back({gradients, bytes, reduce_dtype, reduced(u)});
  }
  result.order = std::move(order);
  return result;
}

std::unique_ptr<DataAxis> FsdpPlan::at_work(const LayerTrace& trace, StepBuilder& step) const {
  return std::make_unique<FsdpAxis>(trace, *this, step);
}

std::size_t FsdpPlan::communicators() const {
  auto own = static_cast<std::size_t>(options.communicators);
  return own + (expert_shards.value_or(1) > 1) + (replicas > 1);
}

// torchtitan's fully_shard of a stage: with a pipeline units stay gathered, and gradients whole, until the
// last micro-batch is through (parallelize_llama.py, fsdp_reshard_after_forward: default), and PyTorch 2.15
// reduces them after its backward pass (distributed/pipelining/stage.py, backward_maybe_with_nosync).
void FsdpPlan::hold_gathered() {
  holds_gathered = true;
  options.reshard_after_forward = options.reduce_every_micro_batch = false;
}

HeldStates FsdpPlan::held(const HeldOf& of) const {
  HeldStates held{.sharding = Sharding::weights,
                  .shards = shards,
                  .expert_shards = expert_shards.value_or(1),
                  .communicators = static_cast<int>(communicators()),
                  .on_host = options.cpu_offload};
  if (holds_gathered) held.state = {4, 4, of.step.step.optimizer.state_bytes(4), 0};
  // The ends' unit stays whatever is said of the others; without a say of their own it is not counted here.
  for (std::size_t unit = holds_gathered ? 0 : 1; unit < units.size(); ++unit)
    if (!options.reshard_after_forward) held.buckets += gathered(unit);
  // Without a reduction after each micro-batch whole gradients wait for the last one.
  if (holds_gathered || (!options.reduce_every_micro_batch && of.accumulation_steps > 1))
    held.buckets += of.trace.bytes();
  // A block's experts are gathered beside it; whoever has some alone holds a copy of them, too.
  for (std::size_t unit = 1; unit < units.size(); ++unit) {
    bool has_experts = unit + 1 < units.size() && units[unit + 1].of_experts;
    auto elements = units[unit].elements + (has_experts ? units[unit + 1].elements : 0);
    held.unit_layers = std::max(held.unit_layers, static_cast<double>(elements) / of.block_parameters);
  }
  return held;
}

std::vector<Note> FsdpPlan::notes(const PlanInput& input) const {
  std::vector<Note> notes;
  // Of units by name: a matrix that embedding and head share belongs to the root, which is gathered for both.
  bool is_tied = input.step && input.step->model.tied;
  for (std::size_t u = 1; is_tied && u < units.size(); ++u)
    for (auto gradient : units[u].gradients)
      if (const auto& model = input.step->model;
          input.trace.gradients[gradient].elements == model.vocab * model.hidden)
        notes.push_back(
            {"tied-unit",
             fmt::format("unit {} has the matrix that embedding and head share: here it is gathered "
                         "for the embedding only, and PyTorch wants both in one unit, the root",
                         units[u].name)});
  if (kind == FsdpKind::fsdp1 && reduce_dtype != DType::float32 && !options.reduce_dtype)
    notes.push_back(
        {"fsdp1-dtypes",
         fmt::format("strategy {} reduces gradients in {}, as MixedPrecision(param_dtype=...) does and "
                     "fsdp.reduce_dtype may say; ddp and fsdp reduce in float32 unless told otherwise",
                     input.choice.strategy->name(), dtype_name(reduce_dtype))});
  double weights = static_cast<double>(bytes_per_element(input.trace.gradients.front().dtype)) / shards;
  if (options.cpu_offload) notes.push_back(host_memory_note(host, input.trace, 4 * weights, weights));
  if (units.size() == 1)
    notes.push_back(
        {"one-unit",
         "no gradient's name has a number that would tell blocks apart: all parameters are one unit, "
         "and nothing overlaps"});
  return notes;
}

// Layers of a unit: powers of two, up to all of them. Ranks of a shard group: a node's times powers of two.
std::vector<StrategyTrial> FsdpPlan::trials(const TrialsOf& of) const {
  std::vector<StrategyTrial> all;
  const auto& rule = options.units;
  auto blocks = rule.names.empty() ? static_cast<int>(shard_units(of.trace, {}).size()) - 1 : 0;
  for (int layers = 1; blocks > 0; layers = std::min(2 * layers, blocks)) {
    if (rule.bytes || rule.blocks != layers)
      all.push_back({fmt::format("units of {} layer{}", layers, layers == 1 ? "" : "s"),
                     {fmt::format("fsdp.unit={{layers: {}}}", layers)}});
    if (layers == blocks) break;
  }
  for (int ranks = of.node_ranks; ranks >= 2 && ranks <= of.world_size; ranks *= 2)
    if (ranks != shards && of.world_size % ranks == 0)
      all.push_back({fmt::format("shard group of {} ranks", ranks),
                     {kind == FsdpKind::fsdp2 ? "strategy=hsdp" : "strategy=hsdp1",
                      fmt::format("fsdp.shard_group={}", ranks)}});
  if (reduce_dtype == DType::float32) all.push_back({"reduce-scatters in bf16", {"fsdp.reduce_dtype=bf16"}});
  if (options.cpu_offload) all.push_back({"nothing on the host", {"fsdp.cpu_offload=false"}});
  return all;
}

}  // namespace ddpsim
