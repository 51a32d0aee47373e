#include "sim/text/accelerate_config.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letter_case.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/accelerate_plugins.hpp"

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

bool is_set(const Entry* entry) {
  return entry && entry->value.kind != Value::Kind::null && is_yaml_true(entry->value);
}
std::string upper(const Value& value) {
  return upper_case(config::as_string(value));
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
    is_deepspeed_ = kind == "DEEPSPEED";
    if (kind == "FSDP")
      set_fsdp();
    else if (kind == "DEEPSPEED")
      set_deepspeed_plugin(plugin(), section("deepspeed_config"));
    else if (kind == "MEGATRON_LM")
      set_megatron_plugin(plugin(), section("megatron_lm_config"));
    else
      launch_.set("strategy", "ddp", place_);
    if (kind != "MEGATRON_LM") set_axes();
  }

 private:
  [[nodiscard]] AcceleratePlugin plugin() const { return {launch_, hidden_, place_, dtype_, dtype_place_}; }

  void check_known(const Entry& entry) {
    const auto& key = entry.key;
    constexpr std::array kRead{"distributed_type",
                               "mixed_precision",
                               "num_processes",
                               "num_machines",
                               "fsdp_config",
                               "deepspeed_config",
                               "megatron_lm_config",
                               "parallelism_config",
                               "dynamo_config",
                               "dynamo_backend",
                               "fp16"};
    if (key == "num_machines")
      return launch_.ignore("num_machines (the topology says how many GPUs a node has)");
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
    if (count > 0) ranks_ = count;
  }

  // bf16 of autocast: parameters stay float32, of DistributedDataParallel and their gradients, too.
  void set_dtype() {
    const auto* entry = file_.find("mixed_precision");
    if (!entry || entry->value.kind == Value::Kind::null) return set_dtype_unsaid(entry != nullptr);
    auto word = config::as_string(entry->value);
    if (word == "no" || word == "NO" || word == "false") word = "fp32";
    if (!is_in(std::array{"fp32", "fp16", "bf16", "fp8"}, word))
      throw InputError(entry->value.span, fmt::format("'{}' is no mixed precision", word),
                       "one of no, fp16, bf16, fp8");
    if (launch_.find("workload.model")) launch_.set("workload.dtype", word, entry->value.span);
    dtype_ = word;
    dtype_place_ = entry->value.span;
  }

  // config_args.py, process_config: files of old say fp16; launch.py: none is "no".
  void set_dtype_unsaid(bool is_null) {
    const auto* old = file_.find("fp16");
    bool is_half = !is_null && is_set(old);
    if (!is_half && launch_.is_typed("workload.dtype")) return;
    dtype_ = is_half ? "fp16" : "fp32";
    dtype_place_ = old ? old->value.span : file_.span;
    if (is_half && launch_.find("workload.model"))
      launch_.set("workload.dtype", dtype_, dtype_place_);
    else if (!is_half)
      launch_.set_usual("workload.dtype", dtype_, dtype_place_);
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
    bool reshards = !said || said->value.kind == Value::Kind::null || is_yaml_true(said->value);
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
    if (map) check_axes(*map);
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

  // parallelism_config.py, _validate_accelerator; DeepSpeed makes groups of its sequence axis itself.
  void check_axes(const Value& map) {
    auto find = [&](const char* name) { return map.find(fmt::format("parallelism_config_{}", name)); };
    std::int64_t product = 1;
    for (const char* name : {"dp_replicate_size", "dp_shard_size", "tp_size", "cp_size", "sp_size"})
      if (const auto* entry = find(name); entry && product <= kLargestWorldSize)
        product *= config::as_integer(1, kLargestWorldSize)(entry->value);
    const auto *sequence = find("sp_size"), *backend = find("sp_backend");
    bool is_of_deepspeed = sequence && sequence->value.scalar != "1" &&
                           (!backend || config::as_string(backend->value) == "deepspeed");
    if (!ranks_ || product == 1 || product == *ranks_ || is_of_deepspeed) return;
    throw InputError(
        map.span, fmt::format("the sizes here make {} processes, and num_processes is {}", product, *ranks_),
        "Accelerate refuses it too: change a size, as parallelism_config_dp_shard_size");
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

  LaunchSettings& launch_;
  const Value& file_;
  const HiddenSize& hidden_;
  SourceSpan place_, dtype_place_;
  std::string dtype_, strategy_;
  std::optional<std::int64_t> ranks_;
  bool is_deepspeed_ = false;
};

}  // namespace

void apply_accelerate_config(LaunchSettings& launch, const Value& file, const HiddenSize& hidden) {
  AccelerateConfig(launch, file, hidden).apply();
}

}  // namespace ddpsim
