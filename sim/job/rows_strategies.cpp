// The sections of strategies: `ddp`, `fsdp`, `zero`, `megatron`, `data_parallel`, `parameter_server`; and
// `host`.
#include "sim/base/limits.hpp"
#include "sim/job/rows.hpp"
#include "sim/job/version_types.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

constexpr bool is_zero(Strategy strategy) {
  return strategy == Strategy::zero1 || strategy == Strategy::zero2 || strategy == Strategy::zero3;
}
constexpr bool is_fsdp(Strategy strategy) {
  return strategy == Strategy::fsdp || strategy == Strategy::hsdp || is_fsdp1(strategy);
}

const When kDdp{[](const Job& job) { return job.strategy == Strategy::ddp; }, "strategy ddp"};
const When kWholeDdp{
    [](const Job& job) { return job.strategy == Strategy::ddp && job.reduces_whole_parts(); },
    "strategy ddp of one stage and several ranks that reduce, without shared experts"};
const When kAccumulatedDdp{[](const Job& job) {
                             return kWholeDdp.applies(job) &&
                                    (job.ddp.accumulation_steps > 1 || job.batch.global);
                           },
                           "strategy ddp of one stage and several ranks that reduce, without shared experts, "
                           "and several micro-batches"};
const When kHsdp{[](const Job& job) { return shards_within_groups(job.strategy); },
                 "strategies hsdp and hsdp1"};
const When kFsdp2{[](const Job& job) { return is_fsdp(job.strategy) && !is_fsdp1(job.strategy); },
                  "strategies fsdp and hsdp"};
// DeepSpeed's pipelines reduce at the end, and what is gathered at once is not cut there.
const When kZeroGathers{[](const Job& job) {
                          bool is_shared_zero1 =
                              job.strategy == Strategy::zero1 && !job.reduces_whole_parts();
                          return job.strategy != Strategy::zero3 && !is_shared_zero1;
                        },
                        "strategies zero1, of one stage without shared experts, and zero2"};
const When kZeroWhole{
    [](const Job& job) { return job.strategy != Strategy::zero1 || job.reduces_whole_parts(); },
    "strategy zero1 of one stage without shared experts, zero2 and zero3"};
const When kZeroOverlaps{
    [](const Job& job) { return job.strategy != Strategy::zero1 || job.parallelism.pipeline == 1; },
    "one stage"};
const When kZero3{[](const Job& job) { return job.strategy == Strategy::zero3; }, "strategy zero3"};

bool offloads(const Job& job) {
  bool to_host = (is_fsdp(job.strategy) && job.fsdp.cpu_offload) ||
                 (is_zero(job.strategy) && job.zero.offload_optimizer);
  return to_host && !job.splits_model();
}
const When kOffloads{offloads, "what is offloaded to the host (fsdp.cpu_offload, zero.offload_optimizer)"};
const When kCopies{
    [](const Job& job) { return offloads(job) || job.strategy == Strategy::data_parallel; },
    "what is offloaded to the host (fsdp.cpu_offload, zero.offload_optimizer), or strategy data_parallel"};

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

}  // namespace

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
          .when(kWholeDdp)
          .key<&O::find_unused_parameters>("find_unused_parameters", boolean(), "As PyTorch")
          .key<&O::static_graph>("static_graph", boolean(), "As PyTorch")
          .key<&O::set_last_bucket_cap>("set_last_bucket_cap", boolean(), "The last bucket has a cap too")
          .when(kWholeDdp)
          .key<&O::iteration>("iteration", iteration, "Buckets of which iteration")
          .whole("comm_hook", comm_hook(), "How gradients are compressed")
          .tries({"bf16"})
          .key<&O::compiled>("compiled", boolean(), "Cut as torch.compile's DDPOptimizer does")
          .key<&O::process_groups>("process_groups", whole(1, 64), "Process groups that take turns")
          .key<&O::broadcast_buffers>("broadcast_buffers", maybe(broadcasts()),
                                      "Sizes of the buffers, or false")
          .when(kWholeDdp)
          .usually("the trace's")
          .key<&O::torch>("torch", torch_version(), "Release of PyTorch: \"2.6\"")
          .all_when(kDdp)
          .key<&O::accumulation_steps>("accumulation_steps", whole(1, kMostAccumulationSteps),
                                       "Micro-batches per step")
          .also({"gradient_accumulation_steps", "grad_accum", "grad_accum_steps"})
          .deepspeed("gradient_accumulation_steps"));
}

Type<Fsdp> fsdp_rows() {
  return nested(
      Rows<Fsdp>("fsdp")
          .key<&Fsdp::units>("unit", unit(), "What is gathered at once")
          .tries_sizes({"{layers: 2}", "{layers: 3}", "{layers: 4}", "{layers: 8}"})
          .key<&Fsdp::units, &UnitRule::names>(
              "units", list(text(), {1, "no module is named", "write [\"layers.*\"], or remove 'units'"}),
              "Modules by name")
          .key<&Fsdp::cpu_offload>("cpu_offload", boolean(), "Parameters and optimizer on the host")
          .key<&Fsdp::reshard_after_forward>("reshard_after_forward", boolean(), "As PyTorch")
          .tries({"true", "false"})
          .key<&Fsdp::reshard_last>("reshard_last", boolean(), "The last unit is resharded too")
          .when(kFsdp2)
          .key<&Fsdp::reduce_every_micro_batch>("reduce_every_micro_batch", boolean(), "Else once a step")
          .key<&Fsdp::gathered>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .key<&Fsdp::reduced>("reduce_dtype", maybe(training_dtype()), "What is reduced")
          .usually("fp32; fsdp1 and hsdp1: param_dtype")
          .key<&Fsdp::communicators>("communicators", whole(1, 2), "1, or 2: reductions beside gathers")
          .tries({"2"})
          .key<&Fsdp::shard_group>("shard_group",
                                   word_or("node", whole(2, kLargestWorldSize),
                                           "write node, or how many ranks hold the model: 16"),
                                   "HSDP: ranks that share a copy")
          .when(kHsdp)
          .check([](const Fsdp& fsdp, const Cursor& at) {
            if (!fsdp.units.names.empty() && at.has("unit"))
              throw InputError(at.places.key_at(at.in("unit").path),
                               "fsdp.unit and fsdp.units exclude each other", "remove one of the two");
            if (fsdp.reshard_last && !fsdp.reshard_after_forward)
              refuse(at, "reshard_last", "without fsdp.reshard_after_forward no unit is resharded",
                     "remove one of the two");
          }));
}

Type<Zero> zero_rows() {
  return nested(
      Rows<Zero>("zero")
          .key<&Zero::reduce_bucket_size>("reduce_bucket_size", elements(1), "Elements")
          .deepspeed("zero_optimization.reduce_bucket_size")
          // A hundredth of DeepSpeed's 5e8 to twice as many.
          .tries_sizes({"5000000", "20000000", "100000000", "200000000", "1000000000"})
          .key<&Zero::allgather_bucket_size>("allgather_bucket_size", elements(1), "Elements")
          .when(kZeroGathers)
          .deepspeed("zero_optimization.allgather_bucket_size")
          .key<&Zero::prefetch_bucket_size>("prefetch_bucket_size", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_prefetch_bucket_size")
          .when(kZero3)
          .key<&Zero::max_live_parameters>("max_live_parameters", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_live_parameters")
          .when(kZero3)
          .key<&Zero::max_reuse_distance>("max_reuse_distance", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_reuse_distance")
          .when(kZero3)
          .key<&Zero::param_persistence_threshold>("param_persistence_threshold", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_param_persistence_threshold")
          .when(kZero3)
          .key<&Zero::overlap_comm>("overlap_comm", maybe(boolean()), "As DeepSpeed")
          .when(kZeroOverlaps)
          .usually("zero3: true, else false")
          .deepspeed("zero_optimization.overlap_comm")
          .tries({"true", "false"})
          .key<&Zero::contiguous_gradients>("contiguous_gradients", boolean(), "As DeepSpeed")
          .when(kZeroWhole)
          .deepspeed("zero_optimization.contiguous_gradients")
          .key<&Zero::gathered>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .key<&Zero::reduce_dtype>("reduce_dtype", maybe(training_dtype()), "What is reduced")
          .usually("param_dtype")
          .deepspeed("communication_data_type")
          .key<&Zero::grad_accum_dtype>("grad_accum_dtype", maybe(training_dtype()), "What is added up")
          .usually("param_dtype")
          .deepspeed("data_types.grad_accum_dtype")
          .key<&Zero::offload_optimizer>("offload_optimizer", boolean(), "The optimizer on the host")
          .key<&Zero::offload_param>("offload_param", boolean(), "Parameters on the host")
          .check([](const Zero& zero, const Cursor& at) {
            if (zero.offload_param && !zero.offload_optimizer)
              refuse(at, "offload_param",
                     "parameters on the host and their optimizer on the GPU are not simulated",
                     "add offload_optimizer: true");
            if (zero.offload_optimizer && !zero.contiguous_gradients)
              refuse(at, "contiguous_gradients",
                     "with offload_optimizer DeepSpeed's gradients are contiguous", "remove it");
          }));
}

Type<Megatron> megatron_rows() {
  return nested(
      Rows<Megatron>("megatron")
          .key<&Megatron::bucket_size>(
              "bucket_size", word_or("auto", elements(1), "write auto, or a number of elements: 5e8"),
              "Elements")
          // A quarter of Megatron's 40e6 (1e6 a rank, where those are more) to 64 times as many.
          .tries_sizes({"10000000", "40000000", "160000000", "640000000", "2560000000"})
          .key<&Megatron::overlap_grad_reduce>("overlap_grad_reduce", boolean(), "As Megatron")
          .key<&Megatron::overlap_param_gather>("overlap_param_gather", boolean(), "As Megatron")
          .key<&Megatron::grad_reduce_in_fp32>("grad_reduce_in_fp32", maybe(boolean()), "As Megatron")
          .usually("true, with fp16 parameters false")
          .key<&Megatron::gathered>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .check([](const Megatron& megatron, const Cursor& at) {
            if (megatron.overlap_param_gather && !megatron.overlap_grad_reduce)
              refuse(at, "overlap_grad_reduce",
                     "Megatron gathers in the forward pass only where it also overlaps reductions",
                     "add overlap_param_gather: false");
            if (megatron.bucket_size && !megatron.overlap_grad_reduce)
              refuse(at, "bucket_size", "without overlap_grad_reduce all gradients are one bucket",
                     "remove bucket_size");
          }));
}

Type<DataParallel> data_parallel_rows() {
  using D = DataParallel;
  return nested(
      Rows<D>("data_parallel")
          .key<&D::inputs>("inputs", maybe(size()), "Bytes of a replica's inputs")
          .usually("of a model 8 bytes a token")
          .key<&D::outputs>("outputs", maybe(size()), "Bytes of its outputs")
          .usually("of a model its logits")
          .key<&D::loss>("loss", maybe(time()), "Time of the loss")
          .usually("of a model by its software")
          .key<&D::host_forward>("host_forward", maybe(time()), "Time of the host before each forward pass")
          .usually("of a model its launches"));
}

Type<ParameterServer> parameter_server_rows() {
  using P = ParameterServer;
  return nested(Rows<P>("parameter_server")
                    .key<&P::servers>("servers", whole(1, kLargestWorldSize), "How many")
                    .key<&P::dedicated>("placement", word<bool>({{"colocated", false}, {"dedicated", true}}),
                                        "Where they run")
                    .key<&P::synchronous>("synchronous", boolean(), "Whether workers wait for one another")
                    .key<&P::update_rate>("update_rate", number(1e3, 1e15), "Parameters a second"));
}

Type<HostMachine> host_rows() {
  return nested(
      Rows<HostMachine>("host")
          .key<&HostMachine::copy_bandwidth>("copy_bandwidth", maybe(bandwidth()), "Between GPU and host")
          .when(kCopies)
          .usually("the topology's PCIe")
          .key<&HostMachine::adam_rate>("adam_rate", number(1e3, 1e15), "Parameters a second")
          .when(kOffloads));
}

}  // namespace ddpsim::job

namespace ddpsim {
namespace {

bool computes_in_16_bits(const Job& job) {
  return !job.workload.dtype || activation_bytes(*job.workload.dtype) == 2;
}

// Of strategies that hold what they gather.
std::optional<DType> gathered(const Job& job) {
  if (job::is_zero(job.strategy)) return job.zero.gathered;
  return job.strategy == Strategy::megatron ? job.megatron.gathered : job.fsdp.gathered;
}

}  // namespace

bool Job::says_type_of_weights() const {
  bool holds_gathered = job::is_zero(strategy) || strategy == Strategy::megatron ||
                        (job::is_fsdp(strategy) && parallelism.pipeline > 1);
  return holds_gathered && (gathered(*this) || computes_in_16_bits(*this));
}

bool Job::holds_16_bit_weights() const {
  if (job::is_fsdp(strategy) && splits_model()) return false;
  if (says_type_of_weights()) return bytes_per_element(gathered(*this).value_or(DType::bfloat16)) < 4;
  return workload.gradients && bytes_per_element(*workload.gradients) < 4;
}

}  // namespace ddpsim
