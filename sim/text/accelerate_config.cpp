#include "sim/text/accelerate_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/megatron_args.hpp"
#include "sim/text/megatron_flags.hpp"

namespace ddpsim {
namespace {

using config::Entry;
using config::Value;

// Of Accelerate 1.15 (commands/config/config_args.py, utils/launch.py): nothing that a step's time depends
// on.
constexpr std::array kIgnoredKeys{"compute_environment",
                                  "debug",
                                  "machine_rank",
                                  "gpu_ids",
                                  "main_process_ip",
                                  "main_process_port",
                                  "rdzv_backend",
                                  "same_network",
                                  "main_training_function",
                                  "enable_cpu_affinity",
                                  "mpirun_config",
                                  "num_machines",
                                  "downcast_bf16",
                                  "tpu_name",
                                  "tpu_zone",
                                  "tpu_use_cluster",
                                  "tpu_use_sudo",
                                  "command_file",
                                  "commands",
                                  "tpu_vm",
                                  "tpu_env",
                                  "use_cpu",
                                  "fp8_config"};
constexpr std::array kIgnoredOfFsdp{
    "state_dict_type", "cpu_ram_efficient_loading",     "sync_module_states",
    "use_orig_params", "transformer_layer_cls_to_wrap", "transformer_cls_names_to_wrap",
    "forward_prefetch"};
constexpr std::array kIgnoredOfDeepSpeed{"zero3_init_flag",
                                         "zero3_save_16bit_model",
                                         "deepspeed_multinode_launcher",
                                         "deepspeed_hostfile",
                                         "deepspeed_exclusion_filter",
                                         "deepspeed_inclusion_filter",
                                         "deepspeed_moe_layer_cls_names",
                                         "gradient_clipping"};

// YAML 1.1, which PyYAML reads, has more words for it.
bool is_true(const Value& value) {
  if (value.kind != Value::Kind::scalar) throw config::wrong_kind(value, "true or false");
  auto word = value.scalar;
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (is_in(std::array{"true", "yes", "on", "1"}, word)) return true;
  if (is_in(std::array{"false", "no", "off", "0"}, word)) return false;
  throw InputError(value.span, fmt::format("'{}' is neither true nor false", value.scalar),
                   "write true or false");
}
bool is_set(const Entry* entry) {
  return entry && entry->value.kind != Value::Kind::null && is_true(entry->value);
}
std::string upper(const Value& value) {
  auto word = config::as_string(value);
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return word;
}

class AccelerateConfig {
 public:
  AccelerateConfig(LaunchSettings& launch, const Value& file, const HiddenSize& hidden)
      : launch_(launch), file_(file), hidden_(hidden) {}

  void apply() {
    const auto* type = file_.find("distributed_type");
    if (!type)
      throw InputError(file_.span, "'distributed_type' is missing",
                       "Accelerate refuses it too: MULTI_GPU, FSDP, ...");
    for (const auto& entry : file_.entries) check_known(entry);
    set_ranks();
    set_dtype();
    leave_out_compiler();
    auto kind = upper(type->value);
    constexpr std::array kKinds{"NO", "MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM"};
    if (!is_in(kKinds, kind))
      throw InputError(type->value.span, fmt::format("distributed_type {} is not simulated", kind),
                       fmt::format("one of {}", fmt::join(kKinds, ", ")));
    place_ = type->value.span;
    if (kind == "FSDP")
      set_fsdp();
    else if (kind == "DEEPSPEED")
      set_deepspeed();
    else if (kind == "MEGATRON_LM")
      set_megatron();
    else
      launch_.set("strategy", "ddp", place_);
    if (kind != "MEGATRON_LM") set_axes();
  }

 private:
  void check_known(const Entry& entry) {
    const auto& key = entry.key;
    constexpr std::array kRead{
        "distributed_type",   "mixed_precision",    "num_processes", "fsdp_config",    "deepspeed_config",
        "megatron_lm_config", "parallelism_config", "dynamo_config", "dynamo_backend", "fp16"};
    if (is_in(kRead, key)) return;
    if (!is_in(kIgnoredKeys, key)) {
      std::vector<std::string> names(kRead.begin(), kRead.end());
      throw InputError(entry.key_span, fmt::format("unknown key '{}'{}", key, did_you_mean(key, names)),
                       "Accelerate refuses it too: remove it");
    }
    if (key == "use_cpu" && is_set(&entry))
      throw InputError(entry.value.span, "use_cpu: true trains on CPUs, which are not simulated",
                       "write false");
    launch_.ignore(key);
  }

  const Value* section(const char* key) {
    const auto* entry = file_.find(key);
    if (!entry || entry->value.kind == Value::Kind::null) return nullptr;
    config::check_map(entry->value, key);
    return &entry->value;
  }

  void leave_out_compiler() {
    const auto* dynamo = section("dynamo_config");
    for (const auto* entry :
         {dynamo ? dynamo->find("dynamo_backend") : nullptr, file_.find("dynamo_backend")})
      if (entry && entry->value.kind == Value::Kind::scalar && upper(entry->value) != "NO")
        launch_.leave_out(
            fmt::format("dynamo_backend: {} (workload.framework pytorch-compile-2026 has some of it)",
                        entry->value.scalar));
  }

  // -1: whatever the launcher has.
  void set_ranks() {
    const auto* entry = file_.find("num_processes");
    if (!entry) return;
    auto count = config::as_integer(-1, kLargestWorldSize)(entry->value);
    if (count > 0) launch_.set("cluster.world_size", std::to_string(count), entry->value.span);
  }

  // bf16 of autocast: parameters stay float32, of DistributedDataParallel and their gradients, too.
  void set_dtype() {
    const auto* entry = file_.find("mixed_precision");
    if (!entry || entry->value.kind == Value::Kind::null) return;
    auto word = config::as_string(entry->value);
    if (word == "no" || word == "NO" || word == "false") word = "fp32";
    if (!is_in(std::array{"fp32", "fp16", "bf16", "fp8"}, word))
      throw InputError(entry->value.span, fmt::format("'{}' is no mixed precision", word),
                       "one of no, fp16, bf16, fp8");
    if (launch_.find("workload.model")) launch_.set("workload.dtype", word, entry->value.span);
    dtype_ = word;
    dtype_place_ = entry->value.span;
  }

  // fsdp_ is optional in front of a name, as in the plugin's own.
  struct FsdpKeys {
    const Value* map;
    const Entry* find(std::string_view name) const {
      if (!map) return nullptr;
      for (const auto& entry : map->entries)
        if (entry.key == name || entry.key == fmt::format("fsdp_{}", name)) return &entry;
      return nullptr;
    }
  };

  void check_fsdp_keys(const Value& map) {
    constexpr std::array kRead{
        "version",          "sharding_strategy", "reshard_after_forward",    "offload_params",
        "auto_wrap_policy", "min_num_params",    "activation_checkpointing", "backward_prefetch",
        "ignored_modules"};
    for (const auto& [key, span, value] : map.entries) {
      auto name = std::string_view(key).starts_with("fsdp_") ? key.substr(5) : key;
      if (is_in(kIgnoredOfFsdp, name))
        launch_.ignore(key);
      else if (!is_in(kRead, name))
        launch_.note("launch-unknown",
                     fmt::format("{}: '{}' is not known, and ignored", place_of(span), key));
    }
  }

  void set_fsdp() {
    const auto* map = section("fsdp_config");
    if (map) check_fsdp_keys(*map);
    FsdpKeys keys{map};
    const auto* version = keys.find("version");
    int number = version ? static_cast<int>(config::as_integer(1, 2)(version->value)) : 1;
    number == 1 ? set_fsdp1(keys) : set_fsdp2(keys);
    if (strategy_ == "ddp") return;
    if (is_set(keys.find("offload_params")))
      launch_.set("fsdp.cpu_offload", "true", keys.find("offload_params")->value.span);
    else
      launch_.set_usual("fsdp.cpu_offload", "false", place_);
    if (const auto* one = keys.find("activation_checkpointing");
        is_set(one) && launch_.find("workload.model"))
      launch_.set("workload.recompute", "full", one->value.span);
    set_wrapping(keys);
    if (const auto* one = keys.find("backward_prefetch");
        one && one->value.kind != Value::Kind::null && upper(one->value) != "BACKWARD_PRE")
      launch_.leave_out(fmt::format("{}: {}", one->key, one->value.scalar));
    if (const auto* one = keys.find("ignored_modules"); one && one->value.kind != Value::Kind::null)
      launch_.leave_out(one->key);
    // utils/dataclasses.py, set_mixed_precision: one type for parameters and reductions.
    bool is_half = dtype_ == "bf16" || dtype_ == "fp16" || dtype_ == "fp8";
    if (is_half) launch_.set("fsdp.reduce_dtype", dtype_ == "fp16" ? "fp16" : "bf16", dtype_place_);
  }

  void set_strategy(const char* name, const SourceSpan& at) {
    strategy_ = name;
    launch_.set("strategy", name, at);
  }

  // FULL_SHARD unless said; torch.distributed.fsdp.ShardingStrategy has numbers from 1.
  void set_fsdp1(const FsdpKeys& keys) {
    constexpr std::array kNames{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                "HYBRID_SHARD_ZERO2"};
    const auto* said = keys.find("sharding_strategy");
    if (!said || said->value.kind == Value::Kind::null) said = keys.find("reshard_after_forward");
    std::string word = said && said->value.kind != Value::Kind::null ? upper(said->value) : "FULL_SHARD";
    if (word.size() == 1 && word[0] >= '1' && word[0] <= '5')
      word = kNames.at(static_cast<std::size_t>(word[0] - '1'));
    if (word == "TRUE") word = "FULL_SHARD";
    if (word == "FALSE") word = "SHARD_GRAD_OP";
    const auto& at = said ? said->value.span : place_;
    if (!is_in(kNames, word))
      throw InputError(at, fmt::format("'{}' is no sharding strategy", word),
                       fmt::format("one of {}", fmt::join(kNames, ", ")));
    if (word == "NO_SHARD") return set_strategy("ddp", at);
    set_strategy(word.starts_with("HYBRID") ? "hsdp1" : "fsdp1", at);
    bool keeps = word == "SHARD_GRAD_OP" || word == "HYBRID_SHARD_ZERO2";
    keeps ? launch_.set("fsdp.reshard_after_forward", "false", at)
          : launch_.set_usual("fsdp.reshard_after_forward", "true", at);
  }

  void set_fsdp2(const FsdpKeys& keys) {
    const auto* said = keys.find("reshard_after_forward");
    if (const auto* old = keys.find("sharding_strategy"); old && old->value.kind != Value::Kind::null)
      launch_.ignore(old->key + " (of fsdp_version 1)");
    set_strategy("fsdp", place_);
    bool reshards = !said || said->value.kind == Value::Kind::null || is_true(said->value);
    const auto& at = said ? said->value.span : place_;
    reshards ? launch_.set_usual("fsdp.reshard_after_forward", "true", at)
             : launch_.set("fsdp.reshard_after_forward", "false", at);
  }

  // What a unit is: a block, unless nothing is wrapped.
  void set_wrapping(const FsdpKeys& keys) {
    const auto* said = keys.find("auto_wrap_policy");
    if (!said || said->value.kind == Value::Kind::null)
      return launch_.leave_out(
          "no fsdp_auto_wrap_policy, which leaves the model whole: blocks are the units here");
    auto word = upper(said->value);
    if (word == "NO_WRAP")
      throw InputError(said->value.span, "NO_WRAP makes one unit of the whole model, which is not simulated",
                       "write TRANSFORMER_BASED_WRAP");
    if (word == "SIZE_BASED_WRAP") {
      launch_.leave_out(fmt::format("{}: SIZE_BASED_WRAP, blocks are the units", said->key));
    } else if (word != "TRANSFORMER_BASED_WRAP") {
      throw InputError(said->value.span, fmt::format("'{}' is no wrapping policy", word),
                       "one of TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP, NO_WRAP");
    }
  }

  // Sizes of axes; without, all GPUs are on the data axis.
  void set_axes() {
    for (const char* key : {"parallelism.pipeline", "parallelism.expert"})
      launch_.set_usual(key, "1", place_);
    const auto* map = section("parallelism_config");
    auto size = [&](const char* name) {
      const auto* entry = map ? map->find(fmt::format("parallelism_config_{}", name)) : nullptr;
      return entry ? std::pair(config::as_integer(1, kLargestWorldSize)(entry->value), entry->value.span)
                   : std::pair<std::int64_t, SourceSpan>(1, place_);
    };
    auto set = [&](const char* key, const auto& one) {
      one.first > 1 ? launch_.set(key, std::to_string(one.first), one.second)
                    : launch_.set_usual(key, "1", one.second);
    };
    if (is_deepspeed_ && !map) return;
    set("parallelism.tensor", size("tp_size"));
    auto context = size("cp_size"), sequence = size("sp_size");
    if (context.first > 1 && sequence.first > 1)
      throw InputError(sequence.second, "cp_size and sp_size exclude each other",
                       "Accelerate refuses it too");
    set("parallelism.context", sequence.first > 1 ? sequence : context);
    if (sequence.first > 1) launch_.set("context.kind", "all_to_all", sequence.second);
    if (context.first > 1) set_context_kind(*map, context.second);
    set_copies(size("dp_replicate_size"), size("dp_shard_size"));
  }

  void set_context_kind(const Value& map, const SourceSpan& place) {
    const auto* entry = map.find("parallelism_config_cp_comm_strategy");
    auto word = entry ? config::as_string(entry->value) : std::string("allgather");
    launch_.set("context.kind", word == "alltoall" ? "ring" : "all_gather",
                entry ? entry->value.span : place);
  }

  template <class Size>
  void set_copies(const Size& replicas, const Size& shards) {
    if (replicas.first == 1 || strategy_.empty() || strategy_ == "ddp") return;
    if (shards.first == 1) return set_strategy("ddp", replicas.second);
    set_strategy(strategy_ == "fsdp1" || strategy_ == "hsdp1" ? "hsdp1" : "hsdp", replicas.second);
    launch_.set("fsdp.shard_group", std::to_string(shards.first), shards.second);
  }

  // A file, of which nothing is said here; or what utils/dataclasses.py makes of these keys.
  void set_deepspeed() {
    is_deepspeed_ = true;
    const auto* map = section("deepspeed_config");
    const auto* named = map ? map->find("deepspeed_config_file") : nullptr;
    if (named && named->value.kind != Value::Kind::null && named->value.scalar != "none") {
      for (const auto& entry : map->entries)
        if (entry.key != named->key) launch_.ignore("deepspeed_config." + entry.key);
      apply_ds_config(launch_, config::load_yaml(path_of(named->value), "a ds_config.json"), hidden_);
      return;
    }
    made_.kind = Value::Kind::map;
    made_.span = map ? map->span : place_;
    Value zero = made_;
    zero.entries.push_back({"stage", made_.span, config::scalar_value("2", made_.span)});
    if (map)
      for (const auto& entry : map->entries) take(entry, zero);
    made_.entries.push_back({"zero_optimization", made_.span, std::move(zero)});
    for (const char* type : {"bf16", "fp16"}) {
      Value section = made_;
      section.entries = {
          {"enabled", made_.span,
           config::scalar_value(
               dtype_ == type || (dtype_ == "fp8" && type == std::string_view("bf16")) ? "true" : "false",
               dtype_place_.file ? dtype_place_ : made_.span)}};
      if (dtype_ != "fp8") made_.entries.push_back({type, made_.span, std::move(section)});
    }
    apply_ds_config(launch_, made_, hidden_);
  }

  void take(const Entry& entry, Value& zero) {
    const auto& [key, span, value] = entry;
    if (value.kind == Value::Kind::null) return;
    auto text = config::as_string(value);
    if (key == "zero_stage") {
      zero.entries.front().value = value;
    } else if (key == "gradient_accumulation_steps") {
      if (text != "auto") made_.entries.push_back(entry);
    } else if (key == "offload_optimizer_device" || key == "offload_param_device") {
      if (text == "none") return;
      Value offload;
      offload.kind = Value::Kind::map;
      offload.span = value.span;
      offload.entries.push_back({"device", span, value});
      zero.entries.push_back({key.substr(0, key.size() - 7), span, std::move(offload)});
    } else if (is_in(kIgnoredOfDeepSpeed, key) || key.starts_with("offload_")) {
      launch_.ignore("deepspeed_config." + key);
    } else {
      launch_.note("launch-unknown", fmt::format("{}: '{}' is not known, and ignored", place_of(span), key));
    }
  }

  // Accelerate opens it from where it is started: from here, or beside its own file.
  static std::string path_of(const Value& named) {
    namespace fs = std::filesystem;
    fs::path given(config::as_string(named));
    std::error_code unreadable;
    if (given.is_absolute() || fs::is_regular_file(given, unreadable)) return given.string();
    auto beside = fs::path(named.span.file ? named.span.file->name : "").parent_path() / given;
    if (fs::is_regular_file(beside, unreadable)) return beside.lexically_normal().string();
    throw InputError(named.span, fmt::format("there is no file '{}'", given.string()),
                     "the path is relative to the current folder, or to this file's");
  }

  // As Megatron-LM's own flags.
  void set_megatron() {
    const auto* map = section("megatron_lm_config");
    std::map<std::string, MegatronFlags::Use, std::less<>> uses;
    if (map)
      for (const auto& entry : map->entries) add_flag(entry, uses);
    if (dtype_ == "bf16" || dtype_ == "fp16") uses["--" + dtype_] = {dtype_place_, {}};
    if (dtype_ == "fp8") uses["--fp8-format"] = {dtype_place_, {}};
    auto no_model = !launch_.find("workload.model");
    MegatronFlags flags(std::move(uses));
    apply_megatron_flags(launch_, flags, place_);
    if (no_model) return;
    if (const auto* entry = map ? map->find("megatron_lm_num_micro_batches") : nullptr)
      if (!launch_.is_typed("batch.global"))
        launch_.set("ddp.accumulation_steps", config::as_string(entry->value), entry->value.span);
  }

  void add_flag(const Entry& entry, std::map<std::string, MegatronFlags::Use, std::less<>>& uses) {
    struct Name {
      const char *ours, *flag;
      bool is_switch = false;
    };
    static constexpr auto kNames =
        std::to_array<Name>({{"tp_degree", "--tensor-model-parallel-size"},
                             {"pp_degree", "--pipeline-model-parallel-size"},
                             {"context_parallel_size", "--context-parallel-size"},
                             {"expert_model_parallel_size", "--expert-model-parallel-size"},
                             {"expert_tensor_parallel_size", "--expert-tensor-parallel-size"},
                             {"decoder_last_pipeline_num_layers", "--decoder-last-pipeline-num-layers"},
                             {"gradient_clipping", "--clip-grad"},
                             {"recompute_granularity", "--recompute-granularity"},
                             {"recompute_method", "--recompute-method"},
                             {"recompute_num_layers", "--recompute-num-layers"},
                             {"attention_dropout", "--attention-dropout"},
                             {"hidden_dropout", "--hidden-dropout"},
                             {"sequence_parallelism", "--sequence-parallel", true},
                             {"recompute_activations", "--recompute-activations", true},
                             {"use_distributed_optimizer", "--use-distributed-optimizer", true},
                             {"use_custom_fsdp", "--use-custom-fsdp", true}});
    constexpr std::array kIgnored{"no_load_optim",
                                  "no_save_optim",
                                  "eod_mask_loss",
                                  "calculate_per_token_loss",
                                  "attention_backend",
                                  "attention_softmax_in_fp32",
                                  "use_precision_aware_optimizer",
                                  "use_rotary_position_embeddings",
                                  "num_micro_batches"};
    const auto& [key, span, value] = entry;
    auto name = key.starts_with("megatron_lm_") ? key.substr(12) : key;
    if (value.kind == Value::Kind::null) return;
    auto found = std::ranges::find_if(kNames, [&](const Name& one) { return one.ours == name; });
    if (found != kNames.end()) {
      if (found->is_switch && !is_true(value)) return;
      auto& use = uses[found->flag] = {value.span, {}};
      if (!found->is_switch) use.values.push_back({config::as_string(value), value.span, {}});
    } else if (is_in(kIgnored, name)) {
      if (name != "num_micro_batches") launch_.ignore(key);
    } else if (is_true(value)) {
      throw InputError(span, fmt::format("{} is not simulated", key), "a step without it is: write false");
    }
  }

  LaunchSettings& launch_;
  const Value& file_;
  const HiddenSize& hidden_;
  SourceSpan place_, dtype_place_;
  std::string dtype_, strategy_;
  bool is_deepspeed_ = false;
  Value made_;  // a ds_config
};

}  // namespace

void apply_accelerate_config(LaunchSettings& launch, const Value& file, const HiddenSize& hidden) {
  AccelerateConfig(launch, file, hidden).apply();
}

}  // namespace ddpsim
