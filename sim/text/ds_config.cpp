#include "sim/text/ds_config.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letter_case.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/text/ds_config_keys.hpp"

namespace ddpsim {
namespace {

using config::Entry;
using config::Value;

bool is_auto(const Value& value) {
  return value.kind == Value::Kind::scalar && value.scalar == "auto";
}

// JSON's numbers and booleans stand without quotes.
const Value& unquoted(const Value& value, std::string_view key, std::string_view kind) {
  if (value.kind == Value::Kind::scalar && value.is_quoted && !is_auto(value))
    throw InputError(value.span, fmt::format("{} is text here, and DeepSpeed wants {}", key, kind),
                     fmt::format("write {}, without quotes", kind));
  return value;
}

const Value& number(const Value& value, std::string_view key) {
  return unquoted(value, key, "a number");
}

// A key that nothing is read of: DeepSpeed would refuse a number or a boolean in quotes.
void check_not_quoted(const Value& value, std::string_view key) {
  if (value.kind != Value::Kind::scalar || !value.is_quoted) return;
  const auto& text = value.scalar;
  bool is_number = !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (is_number || text == "true" || text == "false")
    unquoted(value, key, is_number ? "a number" : "true or false");
}

bool is_true(const Value& value, std::string_view key) {
  return config::as_bool(unquoted(value, key, "true or false"));
}

// "0", "0.0" and "0e0".
bool is_zero(const Value& value) {
  return value.kind == Value::Kind::scalar && !is_auto(value) && config::as_number(-1e300, 1e300)(value) == 0;
}

bool is_set(const Value& value, std::string_view key) {
  return value.kind != Value::Kind::null && is_true(value, key);
}

// Of zero_optimization.
constexpr std::array kOffloads{"offload_param", "offload_optimizer"};
constexpr std::array kNotSimulated{"zero_quantized_weights", "zero_quantized_gradients",
                                   "stage3_use_all_reduce_for_fetch_params"};
constexpr std::array kGroupSizes{"zero_hpz_partition_size", "mics_shard_size"};

class DsConfig {
 public:
  DsConfig(LaunchSettings& launch, const Value& file, const HiddenSize& hidden)
      : launch_(launch), file_(file), hidden_(hidden) {}

  void apply() {
    for (const auto& entry : file_.entries) read(entry);
    if (!strategy_) set_strategy(0, file_.span);
    set_dtype();
    set_batches();
  }

 private:
  void read(const Entry& entry) {
    const auto& [key, span, value] = entry;
    if (take(entry, key)) return;
    if (key == "zero_optimization") {
      read_zero(value);
    } else if (key == "bf16" || key == "bfloat16") {
      bf16_ = enabled(value, key);
    } else if (key == "fp16") {
      fp16_ = enabled(value, key);
    } else if (key == "tensor_parallel") {
      read_tensor_parallel(value);
    } else if (key == "amp") {
      if (enabled(value, key)) throw not_simulated(value.span, "amp");
    } else if (const Value** count = count_named(key)) {
      if (!skip_auto(entry)) *count = &number(value, key);
    } else if (key == "data_types") {
      for (const auto& dtype : value.entries) take(dtype, "data_types." + dtype.key);
    } else if (key == "sparse_gradients") {
      if (is_true(value, key)) throw not_simulated(value.span, key);
    } else if (key == "optimizer" && value.kind == Value::Kind::map) {
      read_optimizer(value);
    } else if (key == "gradient_clipping" && !is_auto(value) && !is_zero(number(value, key))) {
      launch_.leave_out("gradient_clipping");
    } else if (is_in(kIgnored, key)) {
      check_not_quoted(value, key);
      launch_.ignore(key);
    } else {
      note_unknown(span, key);
    }
  }

  const Value** count_named(std::string_view key) {
    if (key == "train_batch_size") return &batch_;
    if (key == "train_micro_batch_size_per_gpu") return &micro_batch_;
    return key == "gradient_accumulation_steps" ? &accumulation_ : nullptr;
  }

  // Of a key that one of ours is called in DeepSpeed's configuration: false, where there is none.
  bool take(const Entry& entry, const std::string& theirs) {
    const keys::Row* row = nullptr;
    std::string ours;
    keys::each_row(job_table(), [&](const std::string& path, const keys::Row& one) {
      if (one.deepspeed == theirs && path.starts_with("zero.")) row = &one, ours = path;
    });
    if (!row) return false;
    const auto& value = entry.value;
    if (value.kind == Value::Kind::null || fill_in(entry, ours) || skip_auto(entry)) return true;
    auto kind = row->codec->shapes().front().kind;
    if (kind == keys::Shape::Kind::boolean) unquoted(value, entry.key, "true or false");
    if (kind == keys::Shape::Kind::number) number(value, entry.key);
    set(ours, value);
    return true;
  }

  void read_zero(const Value& value) {
    if (value.kind != Value::Kind::map)
      throw InputError(value.span, "zero_optimization is a map since DeepSpeed 0.3", "write {\"stage\": 1}");
    is_stage_0_ = !value.find("stage") || value.find("stage")->value.scalar == "0";
    for (const auto& entry : value.entries) read_zero(entry);
    const auto* stage = value.find("stage");
    int stage_number = stage ? static_cast<int>(config::as_integer(0, 3)(number(stage->value, "stage"))) : 0;
    set_strategy(stage_number, stage ? stage->value.span : value.span);
    if (const auto* scatter = value.find("reduce_scatter");
        scatter && stage_number == 3 && !is_true(scatter->value, "reduce_scatter"))
      throw not_simulated(scatter->value.span, "reduce_scatter: false of stage 3, an all-reduce");
  }

  void set_strategy(int stage, const SourceSpan& place) {
    strategy_ = fmt::format("zero{}", stage);
    launch_.set("strategy", *strategy_, place);
  }

  // runtime/tensor_parallel/config.py: 0 is off.
  void read_tensor_parallel(const Value& value) {
    if (value.kind != Value::Kind::map)
      throw InputError(value.span, "tensor_parallel is a map", "write {\"autotp_size\": 2}");
    for (const auto& [key, span, of] : value.entries) {
      if (key == "autotp_size") {
        auto size = config::as_integer(0, kLargestWorldSize)(number(of, key));
        set("parallelism.tensor",
            config::scalar_value(std::to_string(std::max<std::int64_t>(size, 1)), of.span));
      } else if (key == "tp_overlap_comm") {
        if (is_set(of, key)) throw not_simulated(of.span, key);
      } else if (key == "dtype" || key == "tp" || key == "tensor_parallel" || key == "partition_config" ||
                 key == "preset_model") {
        launch_.ignore("tensor_parallel." + key);
      } else {
        note_unknown(span, "tensor_parallel." + key);
      }
    }
  }

  // Of stage 0 DeepSpeed reads nothing of the section (runtime/engine.py, allreduce_gradients), offloading
  // included.
  bool is_unread(const std::string& key) {
    if (!is_stage_0_ || key == "stage") return false;
    launch_.ignore("zero_optimization." + key + " (stage 0)");
    return true;
  }

  void read_zero(const Entry& entry) {
    const auto& [key, span, value] = entry;
    if (is_unread(key)) return;
    // Sizes of stage 3 have a name with its prefix, and one without.
    if (take(entry, "zero_optimization." + key) || take(entry, "zero_optimization.stage3_" + key)) return;
    if (is_in(kOffloads, key)) {
      read_offload(key, value);
    } else if (key == "cpu_offload" || key == "cpu_offload_param") {
      // Of old: zero/config.py makes offload_optimizer and offload_param of them.
      if (is_set(value, key))
        set(key == "cpu_offload" ? "zero.offload_optimizer" : "zero.offload_param",
            config::scalar_value("true", value.span));
    } else if (is_in(kNotSimulated, key)) {
      if (is_set(value, key)) throw not_simulated(value.span, key);
    } else if (is_in(kGroupSizes, key)) {
      if (config::as_integer(-1, kLargestWorldSize)(number(value, key)) > 1)
        throw not_simulated(value.span, key);
    } else if (is_in(kIgnoredOfZero, key)) {
      check_not_quoted(value, key);
      launch_.ignore("zero_optimization." + key);
    } else if (key != "stage" && key != "reduce_scatter") {
      note_unknown(span, "zero_optimization." + key);
    }
  }

  // zero/offload_config.py: a section without a device offloads nothing.
  void read_offload(const std::string& key, const Value& value) {
    if (value.kind != Value::Kind::null) config::check_map(value, key);
    const auto* device = value.kind == Value::Kind::map ? value.find("device") : nullptr;
    bool has_device = device && device->value.kind != Value::Kind::null && device->value.scalar != "none";
    if (!has_device)
      return launch_.set_usual("zero." + key, "false", device ? device->value.span : value.span);
    if (device->value.scalar != "cpu")
      throw not_simulated(device->value.span, key + " to anything but the CPU");
    if (const auto* ratio = value.find("ratio");
        ratio && config::as_number(0, 1)(number(ratio->value, "ratio")) < 1)
      throw not_simulated(ratio->value.span, key + " of a part (ratio)");
    set("zero." + key, config::scalar_value("true", device->value.span));
  }

  // DeepSpeed's names of them (runtime/config.py); what is like Adam is what steps have unless told.
  void read_optimizer(const Value& value) {
    const auto* type = value.find("type");
    if (!type || is_auto(type->value)) return launch_.ignore("optimizer");
    auto name = lower_case(type->value.scalar);
    constexpr std::array<std::string_view, 2> kAdams{"adam", "adamw"};
    constexpr std::array<std::string_view, 3> kKinds{"sgd", "adafactor", "muon"};
    if (is_in(kAdams, name)) {
      if (!launch_.find("optimizer.kind")) launch_.ignore("optimizer");
      return launch_.set_usual("optimizer.kind", "adamw", type->value.span);
    }
    if (!is_in(kKinds, name)) return launch_.leave_out("optimizer " + type->value.scalar);
    const auto* params = value.find("params");
    const auto* momentum = params ? params->value.find("momentum") : nullptr;
    if (name == "sgd" && momentum && !is_zero(momentum->value)) name = "momentum";
    set("optimizer.kind", config::scalar_value(name, type->value.span));
  }

  static InputError not_simulated(const SourceSpan& span, std::string_view key) {
    return {span, fmt::format("{} is not simulated", key),
            "a step without it is: remove it to simulate that"};
  }

  void note_unknown(const SourceSpan& span, std::string_view key) {
    launch_.note("launch-unknown", fmt::format("{}: '{}' is not known, and ignored", place_of(span), key));
  }

  // What Hugging Face's Trainer fills in of what is in the scenario.
  bool fill_in(const Entry& entry, const std::string& ours) {
    if (!is_auto(entry.value)) return false;
    // transformers/integrations/deepspeed.py, trainer_config_finalize
    auto filled = [&](std::int64_t hidden) -> std::optional<std::int64_t> {
      if (ours == "zero.reduce_bucket_size") return hidden * hidden;
      if (ours == "zero.prefetch_bucket_size")
        return static_cast<std::int64_t>(0.9 * static_cast<double>(hidden) * static_cast<double>(hidden));
      if (ours == "zero.param_persistence_threshold") return 10 * hidden;
      return std::nullopt;
    };
    auto hidden = filled(1) ? hidden_() : std::nullopt;
    if (!hidden) return false;
    set(ours, config::scalar_value(std::to_string(*filled(*hidden)), entry.value.span));
    return true;
  }

  // What it fills in of what only the training script knows.
  bool skip_auto(const Entry& entry) {
    if (is_auto(entry.value)) launch_.leave_open(entry.key);
    return is_auto(entry.value);
  }

  // None: "auto".
  std::optional<bool> enabled(const Value& value, std::string_view key) {
    const auto* entry = value.kind == Value::Kind::map ? value.find("enabled") : nullptr;
    if (value.kind != Value::Kind::map)
      throw InputError(value.span, fmt::format("{} is a map", key), "write {\"enabled\": true}");
    if (!entry) return false;
    if (is_auto(entry->value)) {
      launch_.leave_open(fmt::format("{}.enabled", key));
      dtype_is_auto_ = true;
      return false;
    }
    bool is_enabled = is_true(entry->value, fmt::format("{}.enabled", key));
    if (is_enabled) dtype_place_ = entry->value.span;
    return is_enabled;
  }

  void set_dtype() {
    if (bf16_.value_or(false) && fp16_.value_or(false))
      throw InputError(dtype_place_, "bf16 and fp16 exclude each other", "enable one of the two");
    if (dtype_is_auto_ && !bf16_.value_or(false) && !fp16_.value_or(false)) return;
    auto dtype = config::scalar_value(bf16_.value_or(false)   ? "bf16"
                                      : fp16_.value_or(false) ? "fp16"
                                                              : "fp32",
                                      dtype_place_.file ? dtype_place_ : file_.span);
    set("zero.param_dtype", dtype);
    if (launch_.find("workload.model")) set("workload.dtype", dtype);
  }

  // DeepSpeed's _set_batch_related_parameters: of train_batch_size, micro-batch and accumulation two give the
  // third.
  void set_batches() {
    auto count_of = [](const Value* value) {
      return value ? std::optional(config::as_integer(1, kLargestBatch)(*value)) : std::nullopt;
    };
    auto batch = count_of(batch_), micro = count_of(micro_batch_), steps = count_of(accumulation_);
    if (batch) launch_.set_global_batch(*batch_);
    if (batch)
      divide(*batch, micro, steps);
    else if (micro && !steps)
      steps = 1;
    if (micro) set_micro_batch(*micro);
    if (steps && launch_.is_typed("batch.global"))
      return launch_.note("launch-overridden",
                          fmt::format("{}: its micro-batches give way to the command line's batch.global",
                                      place_of(file_.span)));
    if (steps) launch_.remove("batch");
    if (steps)
      set("ddp.accumulation_steps",
          config::scalar_value(std::to_string(*steps), (accumulation_ ? accumulation_
                                                        : batch_      ? batch_
                                                                      : micro_batch_)
                                                           ->span));
  }

  void divide(std::int64_t batch, std::optional<std::int64_t>& micro, std::optional<std::int64_t>& steps) {
    auto ranks = ranks_of_batch();
    if (!micro && !steps) steps = 1;
    if (auto least = micro.value_or(1) * steps.value_or(1) * ranks; least > batch)
      throw InputError(
          batch_->span,
          fmt::format("train_batch_size {} is less than the {} samples that {} ranks have in a step", batch,
                      least, ranks),
          "DeepSpeed refuses it too: change it, or cluster.world_size");
    if (!micro) micro = batch / ranks / *steps;
    if (!steps) steps = batch / *micro / ranks;
    if (*micro * *steps * ranks != batch)
      throw InputError(
          batch_->span,
          fmt::format("train_batch_size {} is not {} samples a GPU x {} micro-batches x {} ranks", batch,
                      *micro, *steps, ranks),
          "DeepSpeed refuses it too: change one, or cluster.world_size");
  }

  // Copies of the model.
  [[nodiscard]] std::int64_t ranks_of_batch() const {
    if (launch_.is_swept("cluster.world_size") || launch_.find("cluster.groups"))
      throw InputError(
          batch_->span, "train_batch_size is of one number of data-parallel ranks, and here it varies",
          "give train_micro_batch_size_per_gpu and gradient_accumulation_steps instead, or --set "
          "cluster.world_size, which takes its axis out");
    auto degree = [&](const char* key) {
      const auto* value = launch_.find(key);
      return value ? config::as_integer(1, kLargestWorldSize)(*value) : 1;
    };
    auto share =
        degree("parallelism.tensor") * degree("parallelism.pipeline") * degree("parallelism.context");
    return std::max<std::int64_t>(degree("cluster.world_size") / share, 1);
  }

  void set_micro_batch(std::int64_t samples) {
    const auto& place = (micro_batch_ ? micro_batch_ : batch_)->span;
    if (launch_.find("workload.model"))
      return set("workload.micro_batch", config::scalar_value(std::to_string(samples), place));
    launch_.note("launch-batch", fmt::format("{}: a recorded trace is of the batch that it was recorded "
                                             "with, whatever the micro-batch here",
                                             place_of(place)));
  }

  void set(const std::string& key, Value value) { launch_.set(key, std::move(value)); }

  LaunchSettings& launch_;
  const Value& file_;
  const HiddenSize& hidden_;
  std::optional<std::string> strategy_;
  std::optional<bool> bf16_, fp16_;
  bool dtype_is_auto_ = false, is_stage_0_ = true;
  SourceSpan dtype_place_;
  const Value *batch_ = nullptr, *micro_batch_ = nullptr, *accumulation_ = nullptr;
};

}  // namespace

void apply_ds_config(LaunchSettings& launch, const Value& file, const HiddenSize& hidden) {
  DsConfig(launch, file, hidden).apply();
}

}  // namespace ddpsim
