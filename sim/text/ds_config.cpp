#include "sim/text/ds_config.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/text/ds_config_keys.hpp"

namespace ddpsim {
namespace {

using config::Entry;
using config::Value;

template <class Names>
bool is_in(const Names& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

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

bool is_set(const Value& value, std::string_view key) {
  return value.kind != Value::Kind::null && is_true(value, key);
}

// Of zero_optimization.
constexpr std::array kOffloads{"offload_param", "offload_optimizer"};
constexpr std::array kNotSimulated{"zero_quantized_weights", "zero_quantized_gradients",
                                   "stage3_use_all_reduce_for_fetch_params"};
constexpr std::array kGroupSizes{"zero_hpz_partition_size", "mics_shard_size"};

std::string place_of(const SourceSpan& span) {
  return span.file ? fmt::format("{}:{}:{}", span.file->name, span.line, span.column) : "the command line";
}

class DsConfig {
 public:
  DsConfig(Value& root, const std::string& path, bool sweeps)
      : root_(root), file_(config::load_yaml(path, "a ds_config.json")), sweeps_(sweeps) {}

  std::vector<Note> apply() {
    for (const auto& entry : file_.entries) read(entry);
    set_dtype();
    set_batches();
    if (!replaced_.empty())
      notes_.push_back({"ds-config-replaces", fmt::format("{} stands instead of the scenario's {}",
                                                          place_of(file_.span), replaced_)});
    if (!stage_)
      throw InputError(
          file_.span,
          "without zero_optimization nothing is sharded, and DeepSpeed's own all-reduces are not simulated",
          "add \"zero_optimization\": {\"stage\": 2}, or leave --ds-config and write strategy: ddp");
    if (!auto_.empty())
      notes_.push_back(
          {"ds-config-auto",
           fmt::format("{}: \"auto\" is what the training script fills in, and the scenario's own values "
                       "or the defaults stand for {}",
                       place_of(file_.span), fmt::join(auto_, ", "))});
    return std::move(notes_);
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
    } else if (key == "amp") {
      if (enabled(value, key)) throw not_simulated(value.span, "amp");
    } else if (const Value** count = count_named(key)) {
      if (!skip_auto(entry)) *count = &number(value, key);
    } else if (key == "data_types") {
      for (const auto& dtype : value.entries) take(dtype, "data_types." + dtype.key);
    } else if (key == "sparse_gradients") {
      if (is_true(value, key)) throw not_simulated(value.span, key);
    } else if (is_in(kIgnored, key)) {
      check_not_quoted(value, key);
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
    if (skip_auto(entry) || value.kind == Value::Kind::null) return true;
    auto kind = row->codec->shapes().front().kind;
    if (kind == keys::Shape::Kind::boolean) unquoted(value, entry.key, "true or false");
    if (kind == keys::Shape::Kind::number) number(value, entry.key);
    set(ours, value);
    return true;
  }

  void read_zero(const Value& value) {
    if (value.kind != Value::Kind::map)
      throw InputError(value.span, "zero_optimization is a map since DeepSpeed 0.3", "write {\"stage\": 1}");
    for (const auto& entry : value.entries) read_zero(entry);
    const auto* stage = value.find("stage");
    int stage_number = stage ? static_cast<int>(config::as_integer(0, 3)(number(stage->value, "stage"))) : 0;
    const auto& place = stage ? stage->value.span : value.span;
    if (stage_number == 0)
      throw InputError(place, "stage 0 shards nothing, and DeepSpeed's own all-reduces are not simulated",
                       "use stage 1, 2 or 3, or leave --ds-config and write strategy: ddp");
    stage_ = config::scalar_value(fmt::format("zero{}", stage_number), place);
    set("strategy", *stage_);
    if (const auto* scatter = value.find("reduce_scatter");
        scatter && stage_number == 3 && !is_true(scatter->value, "reduce_scatter"))
      throw not_simulated(scatter->value.span, "reduce_scatter: false of stage 3, an all-reduce");
  }

  void read_zero(const Entry& entry) {
    const auto& [key, span, value] = entry;
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
    } else if (key != "stage" && key != "reduce_scatter") {
      note_unknown(span, "zero_optimization." + key);
    }
  }

  void read_offload(const std::string& key, const Value& value) {
    const auto* device = value.kind == Value::Kind::map ? value.find("device") : nullptr;
    if (value.kind == Value::Kind::null || (device && device->value.scalar == "none")) return;
    if (!device || device->value.scalar != "cpu")
      throw not_simulated(device ? device->value.span : value.span, key + " to anything but the CPU");
    if (const auto* ratio = value.find("ratio");
        ratio && config::as_number(0, 1)(number(ratio->value, "ratio")) < 1)
      throw not_simulated(ratio->value.span, key + " of a part (ratio)");
    set("zero." + key, config::scalar_value("true", device->value.span));
  }

  static InputError not_simulated(const SourceSpan& span, std::string_view key) {
    return {span, fmt::format("{} is not simulated", key),
            "a step without it is: remove it to simulate that"};
  }

  void note_unknown(const SourceSpan& span, std::string_view key) {
    notes_.push_back(
        {"ds-config-unknown", fmt::format("{}: '{}' is not known, and ignored", place_of(span), key)});
  }

  // Which Hugging Face's Trainer fills in.
  bool skip_auto(const Entry& entry) {
    if (is_auto(entry.value)) auto_.push_back(entry.key);
    return is_auto(entry.value);
  }

  // None: "auto".
  std::optional<bool> enabled(const Value& value, std::string_view key) {
    const auto* entry = value.kind == Value::Kind::map ? value.find("enabled") : nullptr;
    if (value.kind != Value::Kind::map)
      throw InputError(value.span, fmt::format("{} is a map", key), "write {\"enabled\": true}");
    if (!entry) return false;
    if (is_auto(entry->value)) {
      auto_.push_back(fmt::format("{}.enabled", key));
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
    if (config::find_at(root_, "workload.model")) set("workload.dtype", dtype);
  }

  // DeepSpeed's _set_batch_related_parameters: of train_batch_size, micro-batch and accumulation two give the
  // third.
  void set_batches() {
    auto count_of = [](const Value* value) {
      return value ? std::optional(config::as_integer(1, kLargestBatch)(*value)) : std::nullopt;
    };
    auto batch = count_of(batch_), micro = count_of(micro_batch_), steps = count_of(accumulation_);
    if (batch)
      divide(*batch, micro, steps);
    else if (micro && !steps)
      steps = 1;
    if (micro) set_micro_batch(*micro);
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

  [[nodiscard]] std::int64_t ranks_of_batch() const {
    const auto* sweep = sweeps_ ? root_.find("sweep") : nullptr;
    if ((sweep && sweep->value.find("cluster.world_size")) || config::find_at(root_, "cluster.groups"))
      throw InputError(
          batch_->span, "train_batch_size is of one number of data-parallel ranks, and here it varies",
          "give train_micro_batch_size_per_gpu and gradient_accumulation_steps instead, or --set "
          "cluster.world_size, which takes its axis out");
    const auto* world = config::find_at(root_, "cluster.world_size");
    return world ? config::as_integer(1, kLargestWorldSize)(*world) : 1;
  }

  void set_micro_batch(std::int64_t samples) {
    const auto& place = (micro_batch_ ? micro_batch_ : batch_)->span;
    if (config::find_at(root_, "workload.model"))
      return set("workload.micro_batch", config::scalar_value(std::to_string(samples), place));
    notes_.push_back(
        {"ds-config-batch",
         fmt::format("{}: a recorded trace is of the batch that it was recorded with, whatever the "
                     "micro-batch here",
                     place_of(place))});
  }

  // 5e8 and 500000000 are the same.
  static bool same(const Value& a, const Value& b) {
    if (a == b) return true;
    if (a.kind != Value::Kind::scalar || b.kind != Value::Kind::scalar) return false;
    try {
      return config::as_number(-1e300, 1e300)(a) == config::as_number(-1e300, 1e300)(b);
    } catch (const InputError&) {
      return false;
    }
  }

  // What the scenario file says gives way; what the command line says is meant for this run.
  void replace(const std::string& what, const SourceSpan& place, const std::string& theirs) {
    if (place.is_typed()) throw InputError(place, theirs, "remove one of the two");
    replaced_ += (replaced_.empty() ? "" : ", ") + what;
  }

  void set(const std::string& key, Value value) {
    auto says = fmt::format("{} says {}", place_of(value.span), value.scalar);
    if (const auto* own = config::find_at(root_, key);
        own && own->kind != Value::Kind::null && !same(*own, value))
      replace(fmt::format("{} {}", key, own->scalar), own->span,
              fmt::format("{} is {} here, and {}", key, own->scalar, says));
    auto* sweep = sweeps_ ? root_.find("sweep") : nullptr;
    auto is_same = [&](const Entry& axis) {
      return axis.key == key || axis.key == key.substr(0, key.find('.'));
    };
    if (sweep) {
      for (const auto& axis : sweep->value.entries)
        if (is_same(axis))
          replace(fmt::format("sweep over {}", axis.key), axis.key_span,
                  fmt::format("{} is swept, and {}", axis.key, says));
      std::erase_if(sweep->value.entries, is_same);
    }
    auto place = value.span;
    config::set_at(root_, key, std::move(value), place);
  }

  Value& root_;
  Value file_;
  bool sweeps_;
  std::vector<Note> notes_;
  std::string replaced_;           // keys and axes of the scenario
  std::vector<std::string> auto_;  // keys
  std::optional<Value> stage_;
  std::optional<bool> bf16_, fp16_;
  bool dtype_is_auto_ = false;
  SourceSpan dtype_place_;
  const Value *batch_ = nullptr, *micro_batch_ = nullptr, *accumulation_ = nullptr;
};

}  // namespace

std::vector<Note> apply_ds_config(Value& root, const std::string& path, bool sweeps) {
  return DsConfig(root, path, sweeps).apply();
}

}  // namespace ddpsim
