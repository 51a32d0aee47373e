#include "sim/text/parallel_section.hpp"

#include <numeric>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

const config::Words<TensorOverlap>& overlaps() {
  static const config::Words<TensorOverlap> words{{"none", TensorOverlap::none},
                                                  {"async", TensorOverlap::async},
                                                  {"te", TensorOverlap::measured},
                                                  {"async_tp", TensorOverlap::pipelined}};
  return words;
}

int as_degree(const Value& value) {
  return static_cast<int>(config::as_integer(1, kLargestWorldSize)(value));
}

void read_parallelism(const Value& value, ParallelSection& section) {
  MapReader reader(value, "parallelism");
  section.tensor = reader.optional("tensor", as_degree).value_or(1);
  section.pipeline = reader.optional("pipeline", as_degree).value_or(1);
  section.context = reader.optional("context", as_degree).value_or(1);
  reader.find("expert");  // read_expert_section's
  const auto* data = reader.find("data");
  if (data) config::check_word(*data, {"auto"}, "write auto, or how many copies of the model there are: 8");
  if (data && !config::is_word(*data, "auto")) section.data = as_degree(*data);
  section.sequence = reader.optional("sequence", config::as_bool).value_or(false);
  reader.finish();
  double gpus = 1.0 * section.tensor * section.pipeline * section.context * section.data.value_or(1);
  if (gpus > kLargestWorldSize)
    throw InputError(value.span, fmt::format("more than {} GPUs", kLargestWorldSize), "use smaller degrees");
  if (section.sequence && section.tensor == 1)
    throw InputError(value.find("sequence")->value.span,
                     "the sequence is split over the GPUs of a tensor-parallel group, and there is none",
                     "set tensor to 2 or more, or remove it");
}

void read_pipeline(const Value& value, ParallelSection& section) {
  MapReader reader(value, "pipeline");
  auto schedule = reader.optional("schedule", config::as_word(config::words_of(kPipelineScheduleNames)));
  section.chunks = reader.optional("virtual", as_degree).value_or(1);
  section.schedule =
      schedule.value_or(section.chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b);
  section.group = reader.optional("group", as_degree).value_or(0);
  section.overlaps_messages =
      reader
          .optional("overlap_p2p", config::as_word(config::Words<std::optional<bool>>{
                                       {"auto", std::nullopt}, {"true", true}, {"false", false}}))
          .value_or(std::nullopt);
  section.layers = reader.optional("layers", config::as_list(config::as_integer(0, kMostBlocks)))
                       .value_or(std::vector<std::int64_t>());
  reader.finish();
  if (section.schedule == PipelineSchedule::dualpipe) {
    if (const auto* chunks = value.find("virtual"))
      throw InputError(chunks->value.span, "DualPipe's ranks have two stages, one of each direction",
                       "remove it, or use schedule: interleaved");
    if (section.overlaps_messages == false)
      throw InputError(
          value.find("overlap_p2p")->value.span,
          "DualPipe posts its messages in batches that overlap: with calls that block it would hang",
          "remove it");
    section.chunks = 2;
  }
  if (section.overlaps_messages.value_or(false) && section.schedule == PipelineSchedule::one_f_one_b)
    throw InputError(
        value.find("overlap_p2p")->value.span,
        "1F1B does not overlap its messages: two of them are on the way of every micro-batch, and "
        "Megatron refuses to",
        "remove it, or use schedule: interleaved with virtual: 2");
}

void read_tensor(const Value& value, ParallelSection& section) {
  MapReader reader(value, "tensor");
  section.overlap = reader.optional("overlap", config::as_word(overlaps()));
  section.hidden = reader.optional("hidden", config::as_number(0, 1));
  reader.finish();
  if (section.hidden && section.overlap && *section.overlap != TensorOverlap::measured)
    throw InputError(value.find("hidden")->value.span, "only overlap: te hides a measured share",
                     "remove it, or write overlap: te");
}

void read_context(const Value& value, ParallelSection& section) {
  MapReader reader(value, "context");
  section.context_kind = reader.optional("kind", config::as_word(config::words_of(kContextKindNames)))
                             .value_or(ContextKind::ring);
  reader.finish();
}

// "3 x 1 (tensor x pipeline)", with the context's degree where there is one.
std::string product_text(const ParallelSection& section, std::optional<int> data = std::nullopt) {
  std::string degrees = data ? fmt::format("{} x ", *data) : "", names = data ? "data x " : "";
  bool has_context = section.context > 1;
  degrees +=
      fmt::format("{} x ", section.tensor) + (has_context ? fmt::format("{} x ", section.context) : "");
  return fmt::format("{}{} ({}tensor x {}pipeline)", degrees, section.pipeline, names,
                     has_context ? "context x " : "");
}

// As many each; what is left over is for whoever writes the scenario to place.
std::vector<std::int64_t> equal_layers(const ParallelSection& section, std::int64_t layers, int stages) {
  if (layers % stages == 0)
    return std::vector<std::int64_t>(static_cast<std::size_t>(stages), layers / stages);
  // Whole ones from the front, the last stages take what is left.
  std::vector<std::int64_t> example(static_cast<std::size_t>(stages), (layers + stages - 1) / stages);
  auto left = layers;
  for (auto& one : example) one = std::min(one, left), left -= one;
  const auto& place = section.pipeline_value ? section.pipeline_value->span : section.place();
  throw InputError(
      place, fmt::format("{} layers are no {} equal stages", layers, stages),
      fmt::format("say how many each has: pipeline: {{layers: [{}]}}", fmt::join(example, ", ")));
}

// Pieces i and 2c - 1 - i of a sequence are rank i's, so that causal attention takes all of them as long.
void check_context(const ParallelSection& section, const Parallelism& degrees, const ModelStep& step) {
  int context = degrees.context;
  if (context == 1) return;
  const auto& kind = section.context_value ? section.context_value->span : section.place();
  if (step.step.shape.sequence % (2 * context) != 0)
    throw InputError(section.place(),
                     fmt::format("{} tokens of a sequence are not {} equal pieces, two for each of {} ranks",
                                 step.step.shape.sequence, 2 * context, context),
                     "use a sequence that twice the context degree divides");
  if (!step.software.flash)
    throw InputError(
        section.place(),
        fmt::format("framework {} keeps whole scores, and ranks that share a sequence have parts",
                    step.software.name),
        "use a framework with attention: flash");
  auto of_a_gpu = step.model.kv_heads / degrees.tensor;
  if (degrees.context_kind == ContextKind::all_to_all && of_a_gpu % context != 0)
    throw InputError(
        kind,
        fmt::format("all_to_all cuts attention by heads, and {} key-value heads of a GPU are not "
                    "split over {} ranks",
                    of_a_gpu, context),
        "use kind: ring or all_gather, or a context degree that divides them");
}

}  // namespace

ParallelSection read_parallel_section(const Value& root) {
  ParallelSection section;
  auto find = [&root](const char* key) {
    const auto* entry = root.find(key);
    return entry ? &entry->value : nullptr;
  };
  section.parallelism_value = find("parallelism");
  section.pipeline_value = find("pipeline");
  section.tensor_value = find("tensor");
  section.context_value = find("context");
  section.expert_value = find("expert");
  section.batch_value = find("batch");
  if (section.parallelism_value) read_parallelism(*section.parallelism_value, section);
  if (section.pipeline_value) read_pipeline(*section.pipeline_value, section);
  if (section.tensor_value) read_tensor(*section.tensor_value, section);
  const auto* experts = section.parallelism_value ? section.parallelism_value->find("expert") : nullptr;
  section.expert = read_expert_section(section.expert_value, experts ? &experts->value : nullptr);
  if (section.context_value) read_context(*section.context_value, section);
  if (section.batch_value) {
    MapReader reader(*section.batch_value, "batch");
    section.global_batch = reader.required("global", config::as_integer(1, kLargestBatch));
    reader.finish();
  }
  for (const auto* unused :
       {section.pipeline_value, section.tensor_value, section.context_value, section.expert_value})
    if (unused && !section.parallelism_value)
      throw InputError(unused->span, "nothing says over how many GPUs the model is spread",
                       "add parallelism: {tensor: 8, pipeline: 4}");
  if (section.pipeline_value && section.pipeline == 1 && (section.chunks > 1 || !section.layers.empty()))
    throw InputError(section.pipeline_value->span, "a pipeline of one stage has no others",
                     "add parallelism: {pipeline: 4}");
  return section;
}

std::vector<Note> unused_axes(const ParallelSection& section) {
  std::vector<Note> notes;
  for (auto [value, degree, axis] : {std::tuple(section.pipeline_value, section.pipeline, "pipeline"),
                                     {section.tensor_value, section.tensor, "tensor"},
                                     {section.context_value, section.context, "context"}})
    if (value && degree == 1)
      notes.push_back(
          {"axis-unused", fmt::format("parallelism.{} is 1: the section '{}' changes nothing", axis, axis)});
  return notes;
}

Parallelism degrees_of(const ParallelSection& section, int world_size) {
  int of_a_model = section.of_a_model();
  if (world_size % of_a_model != 0)
    throw InputError(section.place(),
                     fmt::format("{} GPUs are not a multiple of {}", world_size, product_text(section)),
                     "use a world size that is a multiple of their product");
  int data = world_size / of_a_model;
  if (section.data && *section.data != data)
    throw InputError(section.parallelism_value->find("data")->value.span,
                     fmt::format("{} are {} GPUs, and the world has {}", product_text(section, *section.data),
                                 *section.data * of_a_model, world_size),
                     "write data: auto");
  return {section.tensor, data, section.pipeline, section.sequence, section.context, section.context_kind};
}

std::optional<int> micro_batches_of(const ParallelSection& section, int data, std::int64_t micro_batch) {
  if (!section.global_batch) return std::nullopt;
  auto samples = data * micro_batch;
  if (*section.global_batch % samples != 0)
    throw InputError(section.batch_value->find("global")->value.span,
                     fmt::format("a batch of {} cannot be split into micro-batches of {} on {}",
                                 counted(*section.global_batch, "sample"), micro_batch,
                                 counted(data, "data-parallel rank")),
                     fmt::format("use a multiple of {}", samples));
  auto count = *section.global_batch / samples;
  if (count > kMostAccumulationSteps)
    throw InputError(section.batch_value->span,
                     fmt::format("{} micro-batches are more than {}", count, kMostAccumulationSteps),
                     "use larger micro-batches");
  return static_cast<int>(count);
}

void settle_tensor_overlap(const ParallelSection& section, const Software& software,
                           const Parallelism& degrees, TensorCollectives& tensor) {
  auto usual = software.tensor_hidden ? TensorOverlap::measured
               : degrees.sequence     ? TensorOverlap::async
                                      : TensorOverlap::none;
  if (section.hidden) usual = TensorOverlap::measured;
  tensor.overlap = section.overlap.value_or(usual);
  if (tensor.overlap != TensorOverlap::measured) return;
  if (!section.hidden && !software.tensor_hidden)
    throw InputError(section.tensor_value->span,
                     fmt::format("nobody measured what share of its collectives {} hides", software.name),
                     "say it: tensor: {overlap: te, hidden: 0.7}");
  tensor.hidden = section.hidden.value_or(software.tensor_hidden.value_or(0));
}

ParallelOptions parallel_options(const ParallelSection& section, const Parallelism& degrees,
                                 const ModelStep& step, const DataAxis& axis, int micro_batches) {
  const auto& model = step.model;
  const auto& place = section.place();
  auto divides = [&](const char* what, std::int64_t number, bool or_is_divided = false) {
    if (number % degrees.tensor == 0 || (or_is_divided && degrees.tensor % number == 0)) return;
    throw InputError(
        place,
        fmt::format("{} {} of {} are not split over {} GPUs", number, what, model.name, degrees.tensor),
        "use a tensor degree that divides them");
  };
  divides("heads", model.heads);
  divides("columns of the feed-forward layer", model.ffn);
  if (model.has_experts() && degrees.expert.ranks == 1) divides("columns of an expert", model.experts.ffn);
  divides("columns of shared experts", model.experts.shared * model.experts.ffn);
  divides("key-value heads", model.kv_heads);
  if (degrees.sequence) divides("tokens of a sequence", step.step.shape.sequence / degrees.context);
  check_context(section, degrees, step);
  ParallelOptions options;
  options.degrees = degrees;
  options.shape = {section.schedule, degrees.pipeline, section.chunks, micro_batches, section.group};
  try {
    check_shape(options.shape);
  } catch (const InputError& error) {
    const auto* of = error.subject() == "global" ? section.batch_value : section.pipeline_value;
    const auto* key = of ? of->find(error.subject()) : nullptr;
    throw error.at(key ? key->value.span : section.pipeline_value ? section.pipeline_value->span : place);
  }
  bool overlaps = section.overlaps_messages.value_or(section.schedule != PipelineSchedule::one_f_one_b &&
                                                     section.schedule != PipelineSchedule::gpipe);
  bool is_interleaved = section.schedule == PipelineSchedule::interleaved;
  int group = section.group > 0 ? section.group : degrees.pipeline;
  if (is_interleaved && !overlaps && micro_batches <= group && degrees.pipeline > 2)
    throw InputError(section.pipeline_value->span,
                     "with one group of micro-batches ranks never alternate, and calls that block would hang",
                     "use more micro-batches, or overlap_p2p: true");
  if (section.group > 0 && !is_interleaved)
    throw InputError(section.pipeline_value->find("group")->value.span,
                     "only the interleaved schedule has groups of micro-batches", "remove it");
  options.messages = overlaps         ? MessageOverlap::overlapped
                     : is_interleaved ? MessageOverlap::fused
                                      : MessageOverlap::blocking;
  int stages = options.shape.stages();
  if (stages > model.layers)
    throw InputError(section.pipeline_value ? section.pipeline_value->span : place,
                     fmt::format("{} stages, and the model has {} layers", stages, model.layers),
                     "use fewer stages or chunks");
  options.layers = section.layers.empty() ? equal_layers(section, model.layers, stages) : section.layers;
  auto sum = std::accumulate(options.layers.begin(), options.layers.end(), std::int64_t{0});
  if (static_cast<int>(options.layers.size()) != stages || sum != model.layers)
    throw InputError(section.pipeline_value->find("layers")->value.span,
                     fmt::format("{} stages with {} layers, and the model's {} layers go through {}",
                                 options.layers.size(), sum, model.layers, stages),
                     "give each stage its number of layers, in the order a micro-batch passes them");
  options.data_axis = axis;
  return options;
}

}  // namespace ddpsim
