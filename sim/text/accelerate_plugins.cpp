#include "sim/text/accelerate_plugins.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/letter_case.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/megatron_args.hpp"
#include "sim/text/megatron_flags.hpp"

namespace ddpsim {
namespace {

using config::Entry;
using config::Value;

constexpr std::array kIgnoredOfDeepSpeed{"zero3_init_flag",
                                         "zero3_save_16bit_model",
                                         "deepspeed_multinode_launcher",
                                         "deepspeed_hostfile",
                                         "deepspeed_exclusion_filter",
                                         "deepspeed_inclusion_filter",
                                         "deepspeed_moe_layer_cls_names",
                                         "gradient_clipping"};

class DeepSpeedPlugin {
 public:
  explicit DeepSpeedPlugin(const AcceleratePlugin& of) : of_(of) {}

  // A file, of which nothing is said here; or what utils/dataclasses.py makes of these keys.
  void set(const Value* map) {
    const auto* named = map ? map->find("deepspeed_config_file") : nullptr;
    if (named && named->value.kind != Value::Kind::null && named->value.scalar != "none") {
      for (const auto& entry : map->entries)
        if (entry.key != named->key) of_.launch.ignore("deepspeed_config." + entry.key);
      apply_ds_config(of_.launch, config::load_yaml(path_of(named->value), "a ds_config.json"), of_.hidden);
      return;
    }
    made_.kind = Value::Kind::map;
    made_.span = map ? map->span : of_.place;
    Value zero = made_;
    zero.entries.push_back({"stage", made_.span, config::scalar_value("2", made_.span)});
    if (map)
      for (const auto& entry : map->entries) take(entry, zero);
    made_.entries.push_back({"zero_optimization", made_.span, std::move(zero)});
    for (const char* type : {"bf16", "fp16"}) add_type(type);
    apply_ds_config(of_.launch, made_, of_.hidden);
  }

 private:
  // As the training script says where the file does not; float8 is beside bfloat16.
  void add_type(const std::string& type) {
    if (of_.dtype == "fp8") return;
    const char* is_it = of_.dtype.empty() ? "auto" : of_.dtype == type ? "true" : "false";
    Value section;
    section.kind = Value::Kind::map;
    section.span = of_.dtype_place.file ? of_.dtype_place : made_.span;
    section.entries.push_back({"enabled", section.span, config::scalar_value(is_it, section.span)});
    made_.entries.push_back({type, section.span, section});
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
      of_.launch.ignore("deepspeed_config." + key);
    } else {
      of_.launch.note("launch-unknown",
                      fmt::format("{}: '{}' is not known, and ignored", place_of(span), key));
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

  const AcceleratePlugin& of_;
  Value made_;  // a ds_config
};

class MegatronPlugin {
 public:
  explicit MegatronPlugin(const AcceleratePlugin& of) : of_(of) {}

  // As Megatron-LM's own flags.
  void set(const Value* map) {
    std::map<std::string, MegatronFlags::Use, std::less<>> uses;
    if (map)
      for (const auto& entry : map->entries) add_flag(entry, uses);
    if (of_.dtype == "bf16" || of_.dtype == "fp16") uses["--" + of_.dtype] = {of_.dtype_place, {}};
    if (of_.dtype == "fp8") uses["--fp8-format"] = {of_.dtype_place, {}};
    auto no_model = !of_.launch.find("workload.model");
    MegatronFlags flags(std::move(uses));
    apply_megatron_flags(of_.launch, flags, of_.place);
    if (no_model) return;
    if (const auto* entry = map ? map->find("megatron_lm_num_micro_batches") : nullptr)
      if (!of_.launch.is_typed("batch.global"))
        of_.launch.set("ddp.accumulation_steps", config::as_string(entry->value), entry->value.span);
  }

 private:
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
      if (found->is_switch && !is_yaml_true(value)) return;
      auto& use = uses[found->flag] = {value.span, {}};
      if (!found->is_switch) use.values.push_back({config::as_string(value), value.span, {}});
    } else if (is_in(kIgnored, name)) {
      if (name != "num_micro_batches") of_.launch.ignore(key);
    } else if (is_yaml_true(value)) {
      throw InputError(span, fmt::format("{} is not simulated", key), "a step without it is: write false");
    }
  }

  const AcceleratePlugin& of_;
};

}  // namespace

bool is_yaml_true(const Value& value) {
  if (value.kind != Value::Kind::scalar) throw config::wrong_kind(value, "true or false");
  auto word = lower_case(value.scalar);
  if (is_in(std::array{"true", "yes", "on", "1"}, word)) return true;
  if (is_in(std::array{"false", "no", "off", "0"}, word)) return false;
  throw InputError(value.span, fmt::format("'{}' is neither true nor false", value.scalar),
                   "write true or false");
}

void set_deepspeed_plugin(const AcceleratePlugin& plugin, const Value* section) {
  DeepSpeedPlugin(plugin).set(section);
}

void set_megatron_plugin(const AcceleratePlugin& plugin, const Value* section) {
  MegatronPlugin(plugin).set(section);
}

}  // namespace ddpsim
