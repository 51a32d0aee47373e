// PyTorch's DistributedDataParallel: its keys, and what it does of models that GPUs share. Its buckets are
// sim/ddp's, its program data_parallel_program().
#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/strategies/all_reduce.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;

void refuse_option(std::string_view key, std::string_view what = "a model that GPUs share") {
  throw InputError(fmt::format("ddp.{} of {} is not simulated", key, what), "remove it")
      .about(fmt::format("ddp.{}", key));
}

class DdpStrategy final : public AllReduceStrategy {
 public:
  DdpStrategy()
      : AllReduceStrategy({.name = "ddp",
                           .is_ddp = true,
                           .all_reduces = true,
                           .shares_models = true,
                           .shares_stages = true,
                           .shares_experts = true,
                           .is_usual = true,
                           .is_of_pytorch = true,
                           .has_gradient_hooks = true},
                          Reducer::ddp) {}
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    std::vector<CommunicatorUse> uses(static_cast<std::size_t>(choice.ddp.process_groups));
    if (choice.expert_shards) uses.push_back({"expert_data", Joined::experts});
    return uses;
  }
  // PyTorch's reducer copies each gradient into its bucket and divides it on the way (or divides it there,
  // where it is a view of the bucket) and, unless it is such a view, copies it back.
  // Buckets written by hand are filled, divided and copied back, and a single tensor is only divided.
  void set_passes(const ReductionPlan& plan, const DdpOptions& options, Overheads& overheads) const override {
    if (options.rule != BucketRule::torch) return set_passes_by_hand(overheads);
    overheads.passes = overheads.passes_of_one = {1, options.gradient_as_bucket_view ? 0.0 : 1.0};
    overheads.compresses = plan.comm_hook != CommHook::none;
  }
  void check_parts(const StrategyChoice& choice) const override {
    const auto& options = choice.ddp;
    for (auto [is_so, key] : {std::pair(options.comm_hook == CommHook::power_sgd, "comm_hook"),
                              {options.compiled, "compiled"},
                              {options.process_groups > 1, "process_groups"}})
      if (is_so) refuse_option(key);
    if (!choice.ddp.unused_parameters.empty())
      throw InputError("unused parameters of a model that GPUs share are not simulated", "remove them")
          .about("workload.unused_parameters");
  }
  void check_stages(const StagesInput& input) const override {
    const auto& buffers = input.choice.ddp.broadcast_buffers;
    if (buffers && !buffers->empty()) refuse_option("broadcast_buffers", "the stages of a pipeline");
  }
};
const DdpStrategy kDdpStrategy;

const When kDdp{[](const Job& job) { return job.strategy == &kDdpStrategy; }, "strategy ddp"};
const When kReducingDdp{[](const Job& job) { return job.strategy == &kDdpStrategy && job.reduces(); },
                        "strategy ddp of several ranks that reduce"};
// Around a stage PyTorch's pipelines say no_sync themselves (distributed/pipelining/stage.py).
const When kAccumulatedDdp{[](const Job& job) {
                             return kReducingDdp.applies(job) && job.parallelism.pipeline == 1 &&
                                    (job.ddp.accumulation_steps > 1 || job.batch.global);
                           },
                           "strategy ddp of one stage, several ranks that reduce and several micro-batches"};

// PowerSGD by its word, or with its parameters.
Type<DdpOptions> comm_hook() {
  struct Hook {
    PowerSgd power_sgd;
  };
  auto power_sgd = nested(
      Rows<PowerSgd>("ddp.comm_hook.powersgd")
          .key<&PowerSgd::rank>("rank", whole(1, 65536), "matrix_approximation_rank")
          .key<&PowerSgd::start_iteration>("start_iteration", whole(0, 1'000'000'000), "start_powerSGD_iter")
          .key<&PowerSgd::min_compression_rate>("min_compression_rate", number(0, 1e9), "As PyTorch")
          .key<&PowerSgd::error_feedback>("use_error_feedback", boolean(), "As PyTorch")
          .key<&PowerSgd::warm_start>("warm_start", boolean(), "As PyTorch"));
  auto section =
      nested(Rows<Hook>("ddp.comm_hook").key<&Hook::power_sgd>("powersgd", power_sgd, "PowerSGD").required());
  auto named = [](const char* name, CommHook hook) {
    return OneOf<DdpOptions>::Form{
        name,
        {},
        nullptr,
        [hook](const Value&, DdpOptions& to, const Cursor&) { to.comm_hook = hook; },
        [=](const DdpOptions& from) {
          bool is_it =
              from.comm_hook == hook && (hook != CommHook::power_sgd || from.power_sgd == PowerSgd{});
          return is_it ? std::optional(scalar(name)) : std::nullopt;
        }};
  };
  return one_of<DdpOptions>("this is no hook", "one of none, fp16, bf16, powersgd",
                            {named("none", CommHook::none), named("fp16", CommHook::fp16),
                             named("bf16", CommHook::bf16), named("powersgd", CommHook::power_sgd),
                             is_like<DdpOptions, Hook>(
                                 section,
                                 [](DdpOptions& to, Hook from) {
                                   to.comm_hook = CommHook::power_sgd;
                                   to.power_sgd = from.power_sgd;
                                 },
                                 [](const DdpOptions& from) {
                                   return from.comm_hook == CommHook::power_sgd
                                              ? std::optional(Hook{from.power_sgd})
                                              : std::nullopt;
                                 },
                                 "powersgd")});
}

// A size, a list of them, or false.
Type<std::vector<Bytes>> broadcasts() {
  using V = std::vector<Bytes>;
  auto broadcast = scalar_type<Bytes>(
      [](const Value& value) {
        auto size = config::as_bytes(value);
        if (size < Bytes(1))
          throw InputError(value.span, "a broadcast of no bytes",
                           "write false where no buffers are broadcast");
        return size;
      },
      [](const Bytes& size) { return fmt::format("{}B", size.value()); }, shape_of(Dimension::size));
  auto on = OneOf<V>::Form{
      "true",
      {},
      nullptr,
      [](const Value& value, V&, const Cursor&) {
        throw InputError(value.span,
                         "broadcast_buffers is on wherever the trace says how large the model's buffers are",
                         "give their size, like 212kB, or false");
      },
      [](const V&) { return std::optional<Value>(); }};
  return one_of<V>(
      "this is no size", "write false, a size like 212kB, or a list of sizes",
      {is_word<V>("false", {}), on,
       is_like<V, Bytes>(
           broadcast, [](V& to, Bytes from) { to = {from}; },
           [](const V& from) { return from.size() == 1 ? std::optional(from.front()) : std::nullopt; }),
       is_like<V, V>(
           list(broadcast), [](V& to, V from) { to = std::move(from); },
           [](const V& from) { return std::optional(from); })});
}

Type<DdpOptions> ddp_rows() {
  using O = DdpOptions;
  auto rule = word<BucketRule>(
      {{"torch", BucketRule::torch}, {"close_before_exceeding", BucketRule::close_before_exceeding}});
  auto iteration = word<DdpIteration>(
      {{"first", DdpIteration::first}, {"second", DdpIteration::second}, {"steady", DdpIteration::steady}});
  return nested(
      Rows<O>("ddp")
          .key<&O::rule>("rule", rule, "How buckets are filled")
          .key<&O::bucket_cap>("bucket_cap", maybe(size()), "Size of a bucket: bucket_cap_mb")
          .usually("PyTorch's")
          .also({"bucket_cap_mb", "bucket_size_mb"})
          // A quarter of PyTorch's 25 MiB to eight times as much.
          .tries_sizes({"6.25MiB", "50MiB", "100MiB", "200MiB"})
          .key<&O::first_bucket_cap>("first_bucket_cap", maybe(size()), "Of the first bucket")
          .usually("PyTorch's")
          .key<&O::bucket_caps>(
              "bucket_caps",
              list(size(), {1, "bucket_caps is an empty list", "list at least one cap, or remove it"}),
              "A cap for each bucket")
          .key<&O::reduce_every_micro_batch>("reduce_every_micro_batch", boolean(),
                                             "Without no_sync: gradients are reduced after each micro-batch")
          .when(kAccumulatedDdp)
          .key<&O::gradient_as_bucket_view>("gradient_as_bucket_view", boolean(),
                                            "Gradients live in the buckets")
          .when(kReducingDdp)
          .key<&O::find_unused_parameters>("find_unused_parameters", boolean(), "As PyTorch")
          .key<&O::static_graph>("static_graph", boolean(), "As PyTorch")
          .key<&O::set_last_bucket_cap>("set_last_bucket_cap", boolean(), "The last bucket has a cap too")
          .when(kReducingDdp)
          .key<&O::iteration>("iteration", iteration, "Buckets of which iteration")
          .whole("comm_hook", comm_hook(), "How gradients are compressed")
          .tries({"bf16"})
          .key<&O::compiled>("compiled", boolean(), "Cut as torch.compile's DDPOptimizer does")
          .key<&O::process_groups>("process_groups", whole(1, 64), "Process groups that take turns")
          .key<&O::broadcast_buffers>("broadcast_buffers", maybe(broadcasts()),
                                      "Sizes of the buffers, or false")
          .when(kReducingDdp)
          .usually("the trace's")
          .key<&O::torch>("torch", job::torch_version(), "Release of PyTorch: \"2.6\"")
          .all_when(kDdp)
          .key<&O::accumulation_steps>("accumulation_steps", whole(1, kMostAccumulationSteps),
                                       "Micro-batches per step")
          .also({"gradient_accumulation_steps", "grad_accum", "grad_accum_steps"})
          .deepspeed("gradient_accumulation_steps"));
}

}  // namespace

StrategyFamily ddp_family() {
  return {{&kDdpStrategy}, [](Rows<Job>& to) {
            to.key<&Job::ddp>("ddp", ddp_rows(), "DistributedDataParallel, as PyTorch's arguments");
          }};
}

const Strategy& usual_strategy() {
  return kDdpStrategy;
}

}  // namespace ddpsim
