// The section `workload`: a recorded trace, or a model.
#include "sim/base/limits.hpp"
#include "sim/job/rows/rows.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

Type<Rescale> rescale() {
  auto dtype = scalar_type<DType>(
      [](const Value& value) {
        return parse_dtype({config::as_string(value), value.span});
      },
      [](const DType& one) { return std::string(dtype_name(one)); },
      {Shape::Kind::word, {}, {}, {"float32", "bfloat16", "float16", "float64"}});
  auto factor = above_zero(number(0, kLargestRescaleFactor), "times of zero are no estimate",
                           "write a number above 0: 0.5 is half");
  return nested(Rows<Rescale>("workload.rescale")
                    .key<&Rescale::from>("from", maybe(text()), "GPU of the trace")
                    .key<&Rescale::to>("to", maybe(text()), "GPU to estimate for")
                    .usually("the cluster's GPU")
                    .key<&Rescale::dtype>("dtype", dtype, "What is computed in")
                    .key<&Rescale::factor>("factor", maybe(factor), "Times are multiplied by it")
                    .check([](const Rescale& rescale, const Cursor& at) {
                      if (!rescale.factor) {
                        if (!rescale.from && !at.is_partial)
                          refuse(at, "", "'workload.rescale' lacks the key 'from'", "add 'from: ...'");
                        return;
                      }
                      for (const char* key : {"from", "to", "dtype"})
                        if (at.has(key))
                          refuse(at, key,
                                 fmt::format("rescale.factor and rescale.{} exclude each other", key),
                                 "a stated factor takes the place of what GPU files give");
                    }));
}

Type<Straggler> straggler() {
  auto rank = whole(0, kLargestWorldSize - 1);
  return nested(Rows<Straggler>("stragglers")
                    .key<&Straggler::rank>("rank", maybe(rank), "Its rank")
                    .key<&Straggler::node>("node", maybe(rank), "Its node")
                    .key<&Straggler::slowdown>("slowdown", number(1, kLargestSlowdown),
                                               "How many times as long it computes")
                    .required()
                    .check([](const Straggler& one, const Cursor& at) {
                      if (one.rank.has_value() == one.node.has_value())
                        refuse(at, "", "a straggler is a rank or a node", "write {rank: 3, slowdown: 1.2}");
                    }));
}

const When kParts{[](const Job& job) {
                    const auto& degrees = job.parallelism;
                    return degrees.tensor > 1 || degrees.pipeline > 1 || degrees.expert > 1;
                  },
                  "a model of which GPUs hold different parts"};
const When kHalfWeights{[](const Job& job) { return job.holds_16_bit_weights(); },
                        "weights that are held in 16 bits"};
const When kAdamW{[](const Job& job) { return job.optimizer.kind == OptimizerKind::adamw; },
                  "optimizer.kind adamw"};
const When kWhole{[](const Job& job) { return !job.splits_model(); }, "a model that GPUs do not share"};
const When kGradients{[](const Job& job) { return !job.says_type_of_weights(); },
                      "gradients whose type neither param_dtype nor workload.dtype says"};

// A word for all blocks, or {full: 4} for the first four of each chunk, as Megatron's --recompute-method
// block.
Type<Workload> recompute() {
  struct Some {
    std::optional<std::int64_t> selective, op, full;
    std::optional<std::vector<RecomputedModule>> modules;
  };
  using Form = OneOf<Workload>::Form;
  auto blocks = maybe(whole<std::int64_t>(0, kMostBlocks));
  constexpr auto kDoc = "So many blocks of each chunk, the first ones";
  auto section =
      nested(Rows<Some>("workload.recompute")
                 .key<&Some::selective>("selective", blocks, kDoc)
                 .usually("none")
                 .key<&Some::op>("op", blocks, kDoc)
                 .usually("none")
                 .key<&Some::full>("full", blocks, kDoc)
                 .usually("none")
                 .also({"recompute_num_layers"})
                 .key<&Some::modules>("modules", maybe(list(word(config::words_of(kRecomputedModuleNames)))),
                                      "Of every block, as Megatron names them")
                 .usually("core_attn, of selective")
                 .also({"recompute_modules"})
                 .check([](const Some& some, const Cursor& at) {
                   if (some.selective.has_value() + some.op.has_value() + some.full.has_value() +
                           some.modules.has_value() !=
                       1)
                     refuse(at, "", "one kind of recomputation is said at a time",
                            "write {full: 4}, {modules: [mlp]}, or a word for all blocks");
                   if (some.modules && some.modules->empty())
                     refuse(at, "modules", "no module is computed again", "write recompute: none");
                 }));
  std::vector<Form> forms;
  for (auto [name, kind] : kRecomputeNames)
    forms.push_back({std::string(name),
                     {},
                     nullptr,
                     [kind = kind](const Value&, Workload& to, const Cursor&) { to.recompute = kind; },
                     [kind = kind, name = name](const Workload& from) {
                       bool is_it = from.recompute == kind && from.recomputed == kAllBlocks &&
                                    from.modules == RecomputedModules();
                       return is_it ? std::optional(scalar(std::string(name))) : std::nullopt;
                     }});
  forms.push_back(is_like<Workload, Some>(
      section,
      [](Workload& to, Some some) {
        if (some.modules) {
          to.recompute = Recompute::selective;
          to.modules.set(RecomputedModule::core_attn, false);
          for (auto module : *some.modules) to.modules.set(module);
          return;
        }
        to.recompute = some.full ? Recompute::full : some.op ? Recompute::op : Recompute::selective;
        to.recomputed = some.full ? *some.full : some.op ? *some.op : *some.selective;
      },
      [](const Workload& from) {
        Some some;
        if (!(from.modules == RecomputedModules())) {
          auto& modules = some.modules.emplace();
          for (auto [name, module] : kRecomputedModuleNames)
            if (from.modules.has(module)) modules.push_back(module);
          return std::optional(some);
        }
        auto& one = from.recompute == Recompute::full ? some.full
                    : from.recompute == Recompute::op ? some.op
                                                      : some.selective;
        one = from.recomputed;
        return std::optional(some);
      },
      "full"));
  return one_of<Workload>("this is no recomputation",
                          "one of none, selective, op, full, {full: BLOCKS}, {modules: [mlp]}",
                          std::move(forms));
}

// A file, or several.
Type<std::vector<std::string>> recordings() {
  using V = std::vector<std::string>;
  constexpr auto kHint = "write step.jsonl, or [step-rank0.jsonl, step-rank4.jsonl]";
  return one_of<V>(
      "these are no recordings", kHint,
      {is_like<V, std::string>(
           text(), [](V& to, std::string one) { to = {std::move(one)}; },
           [](const V& v) { return v.size() == 1 ? std::optional(v.front()) : std::nullopt; }),
       is_like<V, V>(
           list(text(), {1, "no recording is named", kHint}), [](V& to, V all) { to = std::move(all); },
           [](const V& v) { return v.size() > 1 ? std::optional(v) : std::nullopt; })});
}

// By its short name, and by PyTorch's.
config::Words<DType> gradient_dtypes() {
  return {{"fp32", DType::float32},    {"bf16", DType::bfloat16},     {"fp16", DType::float16},
          {"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"float16", DType::float16}};
}
config::Words<Precision> precisions() {
  auto words = config::words_of(kWorkloadPrecisionNames);
  for (auto one : {Precision::float32, Precision::float16, Precision::bfloat16})
    words.emplace_back(name_in(kPrecisionNames, one), one);
  return words;
}

void check_workload(const Workload& workload, const Cursor& at) {
  bool has_model = workload.model.kind != Value::Kind::null;
  if (!workload.recording.empty()) {
    for (const char* key : {"trace", "model", "rescale", "scale_bytes"})
      if (at.has(key))
        refuse(at, key, fmt::format("workload.{} and workload.recording exclude each other", key),
               "a recorded script says what it computes and communicates: keep one");
    for (const char* key :
         {"micro_batch", "sequence", "dtype", "gradients", "recompute", "dropout", "frozen"})
      if (at.has(key))
        refuse(at, key, fmt::format("workload.{} is as the script has it", key),
               "change the script, and record it again");
    if (workload.attention && workload.attention->causal)
      refuse(at, "attention", "workload.attention.causal is as the script has it",
             "change the script, and record it again");
  } else if (!has_model) {
    for (const char* key : {"micro_batch", "sequence", "dtype", "gradients", "recompute", "attention",
                            "dropout", "framework", "compute", "frozen"})
      if (at.has(key))
        refuse(at, key, fmt::format("workload.{} goes with workload.model", key),
               "a trace's times are as recorded");
    return;
  }
  if (has_model && at.has("scale_bytes"))
    refuse(at, "scale_bytes", "workload.scale_bytes and workload.model exclude each other",
           "a model's gradients are as large as its sizes say");
  for (const char* key : {"trace", "rescale"})
    if (has_model && at.has(key))
      refuse(at, key, fmt::format("workload.{} and workload.model exclude each other", key),
             "a trace was recorded, a model's times are estimated for cluster.gpu: keep one");
  if (workload.framework && workload.compute)
    refuse(at, "compute", "workload.compute and workload.framework exclude each other",
           "the calibration names the framework that it started from");
}

}  // namespace

Type<Optimizer> optimizer_rows() {
  return nested(
      Rows<Optimizer>("optimizer")
          .key<&Optimizer::kind>("kind", word(kOptimizerNames), "Which one")
          .also({"optimizer"})
          .key<&Optimizer::moments>("moments", word(kMomentTypeNames), "What its moments are kept in")
          .also({"exp_avg_dtype"})
          .key<&Optimizer::master>("master", word<bool>({{"fp32", true}, {"none", false}}),
                                   "Copy of weights that are held in 16 bits")
          .when(kHalfWeights)
          .key<&Optimizer::clip_norm>("clip_norm", boolean(), "Gradients are clipped by their norm")
          .also({"clip_grad", "max_norm", "gradient_clipping"})
          .when(kParts)
          .key<&Optimizer::fused>("fused", boolean(), "AdamW steps by one kernel")
          .also({"foreach", "fused_adam", "adamw_fused"})
          .when(kAdamW));
}

Type<Workload> workload_rows() {
  auto attention = nested(
      Rows<Attention>("attention")
          .key<&Attention::kernel>("kernel", maybe(text()), "Which kernel")
          .usually("the software's")
          .key<&Attention::causal>("causal", maybe(boolean()), "Whether tokens see only those before them")
          .usually("the model's"));
  return nested(
      Rows<Workload>("workload")
          .key<&Workload::trace>("trace", maybe(text()), "Layer trace: a name, or a CSV file")
          .usually("required without `workload.model` or `workload.recording`")
          .key<&Workload::recording>("recording", recordings(),
                                     "Step of a script that 'ddpsim record' recorded: a file, or one of each "
                                     "stage of a pipeline")
          .usually("none")
          .key<&Workload::framework>("framework", maybe(text()),
                                     "Software whose share of the GPU's peak is reached: a name, or a file")
          .usually("fsdp-eager-2023; of Volta and Turing apex-2019")
          .key<&Workload::compute>("compute", maybe(text()), "Calibrated compute times: a file")
          .usually("none")
          .key<&Workload::model>("model", any(),
                                 "Transformer: a name, a file, a config.json of Hugging Face, or its sizes")
          .usually("required without `workload.trace` or `workload.recording`")
          .key<&Workload::micro_batch>("micro_batch", maybe(whole<std::int64_t>(1, kLargestBatch)),
                                       "Samples that a GPU computes at once")
          .usually("required with a model")
          .also({"batch_size", "micro_batch_size", "mbs", "batch", "per_device_train_batch_size"})
          .deepspeed("train_micro_batch_size_per_gpu")
          .key<&Workload::sequence>("sequence", maybe(whole<std::int64_t>(1, kMostTransformerWidth)),
                                    "Tokens per sample")
          .usually("the model's")
          .also({"sequence", "seq_len", "seqlen", "seq_length", "sequence_length", "max_seq_len",
                 "max_seq_length"})
          .key<&Workload::dtype>("dtype", maybe(word(precisions())), "What is computed in")
          .usually("bf16")
          .also({"precision"})
          .key<&Workload::gradients>("gradients", maybe(word(gradient_dtypes())), "Type of the gradients")
          .when(kGradients)
          .usually("fp32")
          .whole("recompute", recompute(), "What backward computes again to save memory")
          .tries({"none", "selective", "full"})
          .also({"activation_checkpointing", "recompute_granularity"})
          .key<&Workload::attention>("attention", maybe(attention), "The attention kernel")
          .key<&Workload::dropout>("dropout", maybe(boolean()), "Dropout's masks are kept")
          .usually("the software's")
          .key<&Workload::scale_bytes>("scale_bytes", number(1e-9, 1e9),
                                       "Gradients with so many times the elements")
          .key<&Workload::unused_parameters>("unused_parameters", list(text()),
                                             "Parameters that get no gradient")
          .when(kWhole)
          .key<&Workload::tokens>("tokens", maybe(count()),
                                  "Of the whole training: how many days it takes, and what it costs")
          .usually("none")
          .also({"train_tokens", "training_tokens", "max_tokens"})
          .key<&Workload::frozen>(
              "frozen", list(text(), {1, "no module is named", "write [\"layers.*\"], or remove 'frozen'"}),
              "Modules whose parameters are not trained")
          .key<&Workload::rescale>("rescale", maybe(rescale()), "Estimates the trace's times for another GPU")
          .key<&Workload::stragglers>("stragglers", list(straggler()), "Ranks or nodes that compute slower")
          .check(check_workload));
}

}  // namespace ddpsim::job
