#include "sim/resolve/workload_model.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/compute/synthesize.hpp"
#include "sim/config/reader.hpp"
#include "sim/resolve/software_choice.hpp"
#include "sim/text/hugging_face_config.hpp"
#include "sim/text/model_file.hpp"
#include "sim/text/transformer_file.hpp"

namespace ddpsim {
namespace {

using config::Value;

AnyModel hugging_face(const Value& root, const std::string& name) {
  AnyModel model{read_hugging_face_config(root, name), {}};
  model.notes = hugging_face_notes(root, *model.transformer);
  return model;
}

AnyModel model_of(const NamedModel& named) {
  return named.sizes ? AnyModel{*named.sizes, {}} : read_any_model(named.path);
}

}  // namespace

AnyModel described_model(const Value& value, Files& files) {
  if (value.kind == Value::Kind::map)
    return is_hugging_face_config(value) ? hugging_face(value, "model")
                                         : AnyModel{read_transformer(value, "model"), {}};
  config::as_string(value);
  return model_of(files.model(value.located()));
}

namespace {

class WorkloadReader {
 public:
  WorkloadReader(Files& files, const GivenJob& given, const GpuDescription& gpu, bool is_sharded)
      : files_(files), given_(given), workload_(given.job.workload), gpu_(gpu), is_sharded_(is_sharded) {}

  ModelWorkload read() {
    auto model = described_model(workload_.model, files_);
    read_software();
    read_step(model.transformer ? model.transformer->positions : model.layers->sequence);
    try {
      auto result =
          model.transformer ? of_transformer(std::move(*model.transformer)) : of_layers(*model.layers);
      result.notes.insert(result.notes.end(), model.notes.begin(), model.notes.end());
      return result;
    } catch (const InputError& error) {
      auto key = place_path(error.subject());
      throw error.at(given_.at(given_.has(key) ? key : place_path("model")));
    }
  }

 private:
  static std::string place_path(const std::string& key) { return "workload." + key; }
  [[nodiscard]] const SourceSpan& place(const char* key) const { return given_.at(place_path(key)); }

  void read_software() {
    chosen_ = choose_software(files_, given_, gpu_);
    software_ = chosen_.software;
    if (workload_.dropout) software_.memory_use.dropout = *workload_.dropout;
  }

  // `usual_sequence`: the model's, where it has one.
  void read_step(std::int64_t usual_sequence) {
    if (!workload_.micro_batch)
      throw InputError(given_.at("workload"), "'workload' lacks the key 'micro_batch'",
                       "add the samples a GPU computes at once: micro_batch: 4");
    step_.shape.micro_batch = *workload_.micro_batch;
    if (!workload_.sequence && usual_sequence <= 0)
      throw InputError(given_.at("workload"), "'workload' lacks the key 'sequence'",
                       "add the tokens of a sample: sequence: 4096");
    step_.shape.sequence = workload_.sequence.value_or(usual_sequence);
    bool has_bfloat = gpu_.peak.contains(Precision::bfloat16);
    step_.precision = workload_.dtype.value_or(has_bfloat ? Precision::bfloat16 : Precision::float16);
    if (workload_.dtype) try {
        peak_of(gpu_, step_.precision);
      } catch (const InputError& error) {
        throw error.at(place("dtype"));
      }
    if (workload_.gradients) step_.gradients = *workload_.gradients;
    step_.shape.casts_gradients =
        !is_sharded_ && activation_bytes(step_.precision) < 4 && bytes_per_element(step_.gradients) == 4;
    step_.shape.recompute = workload_.recompute;
    step_.shape.recomputed = workload_.recomputed;
    step_.shape.modules = workload_.modules;
    step_.frozen = workload_.frozen;
  }

  // What the software's step moves is AdamW's.
  void settle_optimizer(const Transformer& model) {
    auto& optimizer = step_.optimizer;
    optimizer = given_.job.optimizer;
    optimizer.matrices = share_of_matrices(model, step_.shape.sequence);
    software_.optimizer_bytes =
        optimizer.moved_bytes(software_.optimizer_bytes, given_.job.holds_16_bit_weights());
    if (optimizer.kind == OptimizerKind::muon)
      software_.optimizer_operations =
          muon_operations(model) / static_cast<double>(model.parameters(step_.shape.sequence));
  }

  // The time of a list of layers' step is AdamW's, in the type of its gradients throughout.
  void settle_optimizer(LayerTrace& layers) const {
    const auto& optimizer = given_.job.optimizer;
    if (optimizer == Optimizer()) return;
    if (optimizer.kind == OptimizerKind::muon)
      throw InputError(given_.at("optimizer.kind"),
                       "a list of layers says nothing of the matrices that muon steps",
                       "only a transformer's sizes (kind: transformer) do");
    if (bytes_per_element(step_.gradients) < 4)
      throw InputError(given_.at("optimizer"),
                       "a list of layers whose gradients have 16 bits is stepped by AdamW, all in 16 bits",
                       "remove it, or workload.gradients");
    double of_adamw = kAdamWValues * bytes_per_element(step_.gradients);
    layers.optimizer =
        *layers.optimizer * (optimizer.moved_bytes(of_adamw, given_.job.holds_16_bit_weights()) / of_adamw);
  }

  void check_modules(const Transformer& model) const {
    if (workload_.modules == RecomputedModules()) return;
    bool has_dense = model.blocks_with_experts() < model.layers, has_latent = false;
    for (const auto& run : model.kinds()) has_latent |= run.kind.attention == AttentionKind::latent;
    for (auto [name, module] : kRecomputedModuleNames) {
      if (!workload_.modules.has(module)) continue;
      bool is_there = module == RecomputedModule::mla_up_proj      ? has_latent
                      : module == RecomputedModule::mlp            ? has_dense
                      : module == RecomputedModule::shared_experts ? model.shared_width() > 0
                      : RecomputedModules::is_of_experts(module)   ? model.has_experts()
                                                                   : true;
      if (!is_there)
        throw InputError(
            place("recompute"), fmt::format("{} has no '{}' to compute again", model.name, name),
            "leave it out: mla_up_proj is of latent attention, mlp of blocks without experts, moe, "
            "moe_act and shared_experts of those with them");
    }
  }

  ModelWorkload of_transformer(Transformer model) {
    if (workload_.attention && workload_.attention->causal) model.causal = *workload_.attention->causal;
    if (step_.shape.recomputed != kAllBlocks && step_.shape.recomputed > model.layers)
      throw InputError(place("recompute"),
                       fmt::format("{} blocks are computed again, and {} has {}", step_.shape.recomputed,
                                   model.name, model.layers),
                       fmt::format("write at most {}, or the word alone for all of them", model.layers));
    check_modules(model);
    settle_optimizer(model);
    ModelWorkload result{.trace = transformer_trace(model, gpu_, software_, step_, files_.parts()),
                         .step = {},
                         .notes = notes(true),
                         .doubts = compute_doubts(software_, gpu_, step_.precision, chosen_.whose)};
    if (model.has_experts())
      result.notes.push_back(
          {"mixture-of-experts",
           fmt::format("{} is a mixture of experts, with {:.4g} of {:.4g} parameters active; {}", model.name,
                       static_cast<double>(model.active_parameters(step_.shape.sequence)),
                       static_cast<double>(model.parameters(step_.shape.sequence)),
                       software_.expert.host
                           ? fmt::format("what they take of the host's time is {}'s", software_.name)
                           : fmt::format("what they take of the host's time is not known of {}: launches are "
                                         "counted (software says it in expert: {{host}})",
                                         software_.name))});
    if (model.has_linear_attention())
      result.notes.push_back(
          {"linear-attention-unmeasured",
           fmt::format("the operations of linear attention in {} are counted and take what "
                       "as many of a flash kernel would: nobody measured such a kernel",
                       model.name)});
    auto work = step_work(model, gpu_, step_,
                          training_of(model, *files_.parts().of(model, step_.shape.sequence, step_.frozen)));
    result.step = ModelStep{std::move(model), step_, software_, gpu_, state_bytes(step_), work};
    return result;
  }

  ModelWorkload of_layers(const Model& model) {
    for (const char* key : {"attention", "dropout", "recompute", "frozen"})
      if (given_.has(place_path(key)))
        throw InputError(place(key), fmt::format("a list of layers says nothing that '{}' could change", key),
                         "only a transformer's sizes (kind: transformer) do");
    SynthesisOptions options{.batch = {step_.shape.micro_batch, step_.shape.sequence},
                             .gradients = step_.gradients,
                             .gpu = gpu_,
                             .efficiency = products_share(software_, step_.precision),
                             .memory_efficiency = software_.memory,
                             .forward = {},
                             .backward = {},
                             .optimizer = {}};
    bool is_known = false;
    for (auto dtype : {DType::float16, DType::bfloat16, DType::float32})
      if (precision_of(dtype) == step_.precision) options.compute = dtype, is_known = true;
    if (!is_known)
      throw InputError("a list of layers is computed in fp32, fp16 or bf16",
                       "only a transformer knows tf32 and fp8")
          .about("dtype");
    ModelWorkload result{
        .trace = synthesize(model, options), .step = {}, .notes = notes(false), .doubts = estimated_doubts()};
    settle_optimizer(result.trace);
    result.notes.push_back(
        {"memory-left-out",
         "a list of layers says nothing of activations: whether it fits into the GPU's memory is not known"});
    return result;
  }

  // Steps were measured, and the software fitted and judged, of transformers only.
  [[nodiscard]] std::vector<Note> notes(bool is_transformer) const {
    return software_notes(chosen_, gpu_, step_.precision, is_transformer ? "" : "a list of layers");
  }

  Files& files_;
  const GivenJob& given_;
  const job::Workload& workload_;
  const GpuDescription& gpu_;
  bool is_sharded_;
  ChosenSoftware chosen_;
  Software software_;
  TransformerStep step_;
};

}  // namespace

std::string_view usual_framework(const GpuDescription& gpu) {
  bool is_old = gpu.architecture == "volta" || gpu.architecture == "turing";
  return is_old ? "apex-2019" : "fsdp-eager-2023";
}

AnyModel read_any_model(const std::string& path) {
  auto root = config::load_yaml(path, "a model");
  auto name = std::filesystem::path(path).stem().string();
  if (const auto* workload = root.find("workload"))
    throw InputError(workload->key_span, "this is a scenario, and a model is needed",
                     "give what its workload.model names; 'ddpsim list models' lists those with a name");
  if (is_hugging_face_config(root)) return hugging_face(root, name);
  const auto* kind = root.find("kind");
  if (kind && kind->value.kind == Value::Kind::scalar && kind->value.scalar == "transformer")
    return {read_transformer(root, name), {}};
  return {{}, read_model(path)};
}

AnyModel any_model_of(const std::string& option, const std::string& name_or_path) {
  return model_of(model_of_option(option, name_or_path));
}

std::int64_t own_sequence(const AnyModel& model) {
  return std::max<std::int64_t>(0, model.transformer ? model.transformer->positions : model.layers->sequence);
}

ModelWorkload read_workload_model(Files& files, const GivenJob& given, const GpuDescription& gpu,
                                  bool is_sharded) {
  return WorkloadReader(files, given, gpu, is_sharded).read();
}

}  // namespace ddpsim
