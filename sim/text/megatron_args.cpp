#include "sim/text/megatron_args.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/names.hpp"
#include "sim/text/megatron_flags.hpp"
#include "sim/text/megatron_model.hpp"

namespace ddpsim {
namespace {

using config::Value;

struct Degree {
  const char *flag, *key;
};
constexpr std::array<Degree, 4> kDegrees{{{"--tensor-model-parallel-size", "parallelism.tensor"},
                                          {"--pipeline-model-parallel-size", "parallelism.pipeline"},
                                          {"--context-parallel-size", "parallelism.context"},
                                          {"--expert-model-parallel-size", "parallelism.expert"}}};
using Meaning = std::pair<std::string_view, std::string_view>;

class MegatronArgs {
 public:
  MegatronArgs(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place)
      : launch_(launch), flags_(flags), place_(place) {}

  void set_model() {
    for (const char* recorded : {"workload.trace", "workload.recording", "workload.rescale"})
      launch_.remove(recorded);
    set_megatron_model(launch_, flags_, place_);
    set_number("workload.sequence", "--seq-length", kMostTransformerWidth);
    if (flags_.ranks())
      launch_.set("cluster.world_size", std::to_string(flags_.ranks()->count), flags_.ranks()->span);
  }

  void set() {
    set_degrees();
    set_pipeline();
    set_experts();
    set_batch();
    set_types();
    set_recomputation();
    set_optimizer();
    set_data_axis();
  }

 private:
  [[nodiscard]] std::int64_t degree(const char* flag) const {
    return flags_.number(flag, 1, kLargestWorldSize).value_or(1);
  }
  [[nodiscard]] const SourceSpan& at(std::string_view flag) const {
    return flags_.has(flag) ? flags_.span(flag) : place_;
  }
  void set_number(const std::string& key, const char* flag, std::int64_t most) {
    if (auto number = flags_.number(flag, 1, most)) launch_.set(key, std::to_string(*number), at(flag));
  }
  void set_bool(const std::string& key, const char* flag, bool is_usual = false) {
    if (flags_.has(flag))
      launch_.set(key, "true", at(flag));
    else if (is_usual)
      launch_.set(key, "false", place_);
    else
      launch_.set_usual(key, "false", place_);
  }
  // A word as ours.
  std::string meaning(const char* flag, std::initializer_list<Meaning> words) const {
    auto word = *flags_.word(flag);
    std::vector<std::string> known;
    for (auto [theirs, ours] : words) {
      if (theirs == word) return std::string(ours);
      known.emplace_back(theirs);
    }
    throw InputError(at(flag), fmt::format("{} {} is not simulated", flag, word),
                     fmt::format("one of {}", fmt::join(known, ", ")));
  }

  void set_degrees() {
    for (auto [flag, key] : kDegrees)
      if (auto count = degree(flag); count > 1)
        launch_.set(key, std::to_string(count), at(flag));
      else
        launch_.set_usual(key, "1", at(flag));
    // arguments.py turns it off without tensor parallelism.
    bool splits = degree("--tensor-model-parallel-size") > 1;
    if (splits && flags_.has("--sequence-parallel"))
      launch_.set("parallelism.sequence", "true", at("--sequence-parallel"));
    else
      launch_.set_usual("parallelism.sequence", "false", place_);
    if (degree("--context-parallel-size") > 1 && flags_.has("--cp-comm-type")) set_context_kind();
    if (splits && flags_.has("--tp-comm-overlap"))
      launch_.set("tensor.overlap", "te", at("--tp-comm-overlap"));
  }

  // One kind, or one for each layer.
  void set_context_kind() {
    auto kinds = flags_.words("--cp-comm-type");
    if (std::ranges::any_of(kinds, [&](const std::string& kind) { return kind != kinds.front(); }))
      throw InputError(at("--cp-comm-type"),
                       fmt::format("--cp-comm-type {} differs between layers", fmt::join(kinds, " ")),
                       "one kind for all of them is simulated: p2p, allgather or a2a");
    launch_.set("context.kind",
                meaning("--cp-comm-type", {{"p2p", "ring"},
                                           {"allgather", "all_gather"},
                                           {"all_gather", "all_gather"},
                                           {"a2a", "all_to_all"}}),
                at("--cp-comm-type"));
  }

  void set_pipeline() {
    auto stages = degree("--pipeline-model-parallel-size");
    launch_.remove("pipeline");
    if (stages == 1) return;
    auto chunks = flags_.number("--num-virtual-stages-per-pipeline-rank", 1, kMostBlocks);
    const char* said_by = "--num-virtual-stages-per-pipeline-rank";
    if (auto of_a_chunk = flags_.number("--num-layers-per-virtual-pipeline-stage", 1, kMostBlocks)) {
      said_by = "--num-layers-per-virtual-pipeline-stage";
      auto layers = flags_.number("--num-layers", 1, kMostBlocks).value_or(0);
      if (layers % (stages * *of_a_chunk) != 0)
        throw InputError(at(said_by),
                         fmt::format("{} layers are not stages of {} x {}", layers, stages, *of_a_chunk),
                         "Megatron-LM refuses it too: each stage has as many such chunks");
      chunks = layers / stages / *of_a_chunk;
    }
    if (chunks.value_or(1) > 1) {
      launch_.set("pipeline.virtual", std::to_string(*chunks), at(said_by));
      launch_.set("pipeline.overlap_p2p", flags_.has("--no-overlap-p2p-communication") ? "false" : "true",
                  at("--no-overlap-p2p-communication"));
      set_number("pipeline.group", "--microbatch-group-size-per-virtual-pipeline-stage", kLargestWorldSize);
    }
    set_number("pipeline.layers.first", "--decoder-first-pipeline-num-layers", kMostBlocks);
    set_number("pipeline.layers.last", "--decoder-last-pipeline-num-layers", kMostBlocks);
    for (auto [flag, key] :
         {std::pair("--account-for-embedding-in-pipeline-split", "pipeline.count_embedding"),
          {"--account-for-loss-in-pipeline-split", "pipeline.count_loss"}})
      if (flags_.has(flag)) launch_.set(key, "true", at(flag));
  }

  void set_experts() {
    launch_.remove("expert");
    if (!flags_.has("--num-experts")) return;
    // transformer_config.py: a negative one is none.
    auto factor = flags_.word("--moe-expert-capacity-factor");
    bool drops = factor && !factor->starts_with('-');
    if (degree("--expert-model-parallel-size") == 1) {
      if (drops) launch_.leave_out("--moe-expert-capacity-factor without expert parallelism");
      if (degree("--expert-tensor-parallel-size") != degree("--tensor-model-parallel-size") &&
          flags_.has("--expert-tensor-parallel-size"))
        launch_.leave_out("--expert-tensor-parallel-size without expert parallelism");
      return;
    }
    set_number("expert.tensor", "--expert-tensor-parallel-size", kLargestWorldSize);
    std::string dispatcher = "all_gather";  // transformer_config.py
    if (flags_.has("--moe-token-dispatcher-type"))
      dispatcher = meaning("--moe-token-dispatcher-type",
                           {{"allgather", "all_gather"}, {"alltoall", "all_to_all"}, {"flex", "deepep"}});
    if (flags_.has("--moe-enable-deepep") && dispatcher != "deepep")
      throw InputError(at("--moe-enable-deepep"),
                       "--moe-enable-deepep needs --moe-token-dispatcher-type flex",
                       "Megatron-LM refuses it too: add it, or remove the flag");
    if (dispatcher == "deepep" && flags_.has("--moe-flex-dispatcher-backend"))
      meaning("--moe-flex-dispatcher-backend", {{"deepep", "deepep"}});
    launch_.set("expert.dispatcher", dispatcher, at("--moe-token-dispatcher-type"));
    if (drops) launch_.set("expert.capacity", *factor, at("--moe-expert-capacity-factor"));
    if (flags_.has("--moe-shared-expert-overlap"))
      launch_.set("expert.shared_overlap", "true", at("--moe-shared-expert-overlap"));
  }

  void set_batch() {
    set_number("workload.micro_batch", "--micro-batch-size", kLargestBatch);
    // A micro-batch a copy of the model: arguments.py.
    launch_.remove("ddp.accumulation_steps");
    auto samples = flags_.number("--global-batch-size", 1, kLargestBatch);
    if (!samples) return launch_.remove("batch");
    auto value = config::scalar_value(std::to_string(*samples), at("--global-batch-size"));
    launch_.set_global_batch(value);
    launch_.set("batch.global", std::move(value));
  }

  void set_types() {
    if (flags_.has("--fp16") && flags_.has("--bf16"))
      throw InputError(at("--fp16"), "--bf16 and --fp16 exclude each other", "remove one of the two");
    bool is_float8 = flags_.has("--fp8-format");
    const char* flag = is_float8 ? "--fp8-format" : flags_.has("--bf16") ? "--bf16" : "--fp16";
    const char* dtype = is_float8              ? "fp8"
                        : flags_.has("--bf16") ? "bf16"
                        : flags_.has("--fp16") ? "fp16"
                                               : "fp32";
    launch_.set("workload.dtype", dtype, at(flag));
    launch_.remove("workload.gradients");
    // transformer_config.py: 0.1 of either.
    bool drops = flags_.real("--attention-dropout").value_or(0.1) > 0 ||
                 flags_.real("--hidden-dropout").value_or(0.1) > 0;
    launch_.set("workload.dropout", drops ? "true" : "false", at("--hidden-dropout"));
  }

  void set_recomputation() {
    bool is_short = flags_.has("--recompute-activations");
    const char* flag = is_short ? "--recompute-activations" : "--recompute-granularity";
    if (!flags_.has(flag)) return launch_.set_usual("workload.recompute", "none", place_);
    auto word =
        is_short ? std::string("selective") : meaning(flag, {{"full", "full"}, {"selective", "selective"}});
    launch_.remove("workload.recompute");
    if (word == "full") {
      auto blocks = flags_.number("--recompute-num-layers", 1, kMostBlocks);
      if (blocks && flags_.word("--recompute-method") == "block")
        return launch_.set("workload.recompute.full", std::to_string(*blocks), at("--recompute-num-layers"));
    } else if (flags_.has("--recompute-modules")) {
      return set_modules();
    }
    launch_.set("workload.recompute", word, at(flag));
  }

  void set_modules() {
    Value modules;
    modules.kind = Value::Kind::sequence;
    modules.span = at("--recompute-modules");
    for (const auto& name : flags_.words("--recompute-modules"))
      modules.items.push_back(config::scalar_value(name, modules.span));
    launch_.set("workload.recompute.modules", std::move(modules));
  }

  void set_optimizer() {
    if (flags_.has("--optimizer"))
      launch_.set("optimizer.kind",
                  meaning("--optimizer",
                          {{"adam", "adamw"}, {"sgd", "momentum"}, {"muon", "muon"}, {"dist_muon", "muon"}}),
                  at("--optimizer"));
    else
      launch_.set_usual("optimizer.kind", "adamw", place_);
    if (flags_.has("--exp-avg-dtype"))
      launch_.set("optimizer.moments", meaning("--exp-avg-dtype", {{"fp32", "fp32"}, {"bf16", "bf16"}}),
                  at("--exp-avg-dtype"));
    if (flags_.real("--clip-grad").value_or(1) == 0)
      launch_.set("optimizer.clip_norm", "false", at("--clip-grad"));
    else
      launch_.set_usual("optimizer.clip_norm", "true", place_);
  }

  [[nodiscard]] std::string fsdp_flag() const {
    for (const char* flag : {"--use-torch-fsdp2", "--use-megatron-fsdp", "--use-custom-fsdp"})
      if (flags_.has(flag)) return flag;
    return "";
  }

  // What each GPU keeps a part of, by --data-parallel-sharding-strategy's words; empty: no FSDP.
  std::string sharded() {
    auto flag = fsdp_flag();
    if (flag.empty() || flag == "--use-torch-fsdp2") return flag.empty() ? "" : "optim_grads_params";
    constexpr const char* kStrategy = "--data-parallel-sharding-strategy";
    if (flags_.has(kStrategy))
      return meaning(kStrategy, {{"optim_grads_params", "optim_grads_params"},
                                 {"optim_grads", "optim_grads"},
                                 {"optim", "optim"},
                                 {"no_shard", "no_shard"}});
    // arguments.py: core 0.18 was the first to shard all; 0.13 was the last to have --use-custom-fsdp.
    std::string usual = flag == "--use-megatron-fsdp" ? "optim_grads_params" : "no_shard";
    launch_.note("launch-default",
                 fmt::format("{}: {} without {} is {}, of core {}", place_of(at(flag)), flag, kStrategy,
                             usual, usual == "no_shard" ? "0.13" : "0.18; up to 0.17 it was no_shard"));
    return usual;
  }

  // Megatron-FSDP and PyTorch's are simulated as fsdp where they shard parameters or gradients.
  void set_fsdp(const std::string& shards) {
    const auto& place = at(fsdp_flag());
    launch_.set("strategy", "fsdp", place);
    launch_.set("fsdp.reshard_after_forward", shards == "optim_grads_params" ? "true" : "false", place);
    if (flags_.has("--grad-reduce-in-bf16"))
      launch_.set("fsdp.reduce_dtype", "bf16", at("--grad-reduce-in-bf16"));
  }

  void set_data_axis() {
    auto shards = sharded();
    if (shards.starts_with("optim_grads")) return set_fsdp(shards);
    bool distributes = flags_.has("--use-distributed-optimizer") || shards == "optim";
    bool overlaps = flags_.has("--overlap-grad-reduce"), gathers = flags_.has("--overlap-param-gather");
    launch_.set("strategy", "megatron", at("--use-distributed-optimizer"));
    launch_.remove("megatron");
    launch_.set("megatron.distributed_optimizer", distributes ? "true" : "false",
                at("--use-distributed-optimizer"));
    launch_.set("megatron.overlap_grad_reduce", overlaps ? "true" : "false", at("--overlap-grad-reduce"));
    if (gathers && (!distributes || !overlaps))
      throw InputError(at("--overlap-param-gather"),
                       "--overlap-param-gather needs --use-distributed-optimizer and --overlap-grad-reduce",
                       "Megatron-LM refuses it too: add them, or remove it");
    if (distributes)
      launch_.set("megatron.overlap_param_gather", gathers ? "true" : "false", at("--overlap-param-gather"));
    if (overlaps) set_number("megatron.bucket_size", "--ddp-bucket-size", kMostElements);
    // arguments.py: bfloat16's gradients are added up and reduced in float32 without a word.
    if (flags_.has("--grad-reduce-in-bf16"))
      launch_.set("megatron.grad_reduce_in_fp32", "false", at("--grad-reduce-in-bf16"));
    else if (flags_.has("--fp16") && flags_.has("--accumulate-allreduce-grads-in-fp32"))
      launch_.set("megatron.grad_reduce_in_fp32", "true", at("--accumulate-allreduce-grads-in-fp32"));
  }

  LaunchSettings& launch_;
  const MegatronFlags& flags_;
  const SourceSpan& place_;
};

}  // namespace

void apply_megatron_args(LaunchSettings& launch, const LoadedText& text) {
  auto script = read_shell_script(text);
  SourceSpan place{text.source, 1, 1};
  for (const auto& one : script.not_followed) launch.note("launch-not-followed", one);
  MegatronFlags flags(script, place, launch);
  MegatronArgs args(launch, flags, place);
  args.set_model();
  args.set();
  for (auto& flag : flags.unread()) launch.ignore(std::move(flag));
}

void apply_megatron_flags(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place) {
  MegatronArgs(launch, flags, place).set();
}

}  // namespace ddpsim
