#include "sim/resolve/parallel_section.hpp"

#include <numeric>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/program/stage_layers.hpp"

namespace ddpsim {
namespace {

// "3 x 1 (tensor x pipeline)", with the context's degree where there is one.
std::string product_text(const ParallelSection& section, std::optional<int> data = std::nullopt) {
  std::string degrees = data ? fmt::format("{} x ", *data) : "", names = data ? "data x " : "";
  bool has_context = section.context > 1;
  degrees +=
      fmt::format("{} x ", section.tensor) + (has_context ? fmt::format("{} x ", section.context) : "");
  return fmt::format("{}{} ({}tensor x {}pipeline)", degrees, section.pipeline, names,
                     has_context ? "context x " : "");
}

// By stage that a micro-batch passes.
std::vector<std::int64_t> stage_layers(const GivenJob& given, std::int64_t layers, int ranks, int stages) {
  const auto& pipeline = given.job.pipeline;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&pipeline.layers)) {
    auto sum = std::accumulate(list->begin(), list->end(), std::int64_t{0});
    if (static_cast<int>(list->size()) != stages || sum != layers)
      throw InputError(given.at("pipeline.layers"),
                       fmt::format("{} stages with {} layers, and the model's {} layers go through {}",
                                   list->size(), sum, layers, stages),
                       "give each stage its number of layers, in the order a micro-batch passes them");
    return *list;
  }
  StageRule rule{{}, {}, pipeline.count_embedding, pipeline.count_loss};
  if (const auto* ends = std::get_if<job::EndLayers>(&pipeline.layers)) {
    rule.first = ends->first;
    rule.last = ends->last;
  }
  try {
    return split_layers(layers, ranks, stages / ranks, rule);
  } catch (const InputError& error) {
    for (const char* key : {"pipeline.layers", "pipeline"})
      if (given.has(key)) throw error.at(given.at(key));
    throw error.at(given.at("parallelism"));
  }
}

// Pieces i and 2c - 1 - i of a sequence are rank i's, so that causal attention takes all of them as long.
void check_context(const ParallelSection& section, const Parallelism& degrees, const ModelStep& step) {
  int context = degrees.context;
  if (context == 1) return;
  const auto& kind = section.place_of("context");
  if (step.model.has_linear_attention())
    throw InputError(
        section.place(),
        fmt::format("{} has linear attention, and how ranks that share a sequence hand its state "
                    "on is not modelled",
                    step.model.name),
        "use other axes than context for it");
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

ParallelSection read_parallel_section(const GivenJob& given) {
  const auto& job = given.job;
  ParallelSection section;
  section.given = &given;
  section.tensor = job.parallelism.tensor;
  section.pipeline = job.parallelism.pipeline;
  section.context = job.parallelism.context;
  section.context_kind = job.context.kind;
  section.data = job.parallelism.data;
  section.sequence = job.parallelism.sequence;
  section.chunks = job.pipeline.chunks;
  section.schedule = job.pipeline.schedule.value_or(section.chunks > 1 ? PipelineSchedule::interleaved
                                                                       : PipelineSchedule::one_f_one_b);
  if (section.schedule == PipelineSchedule::dualpipe) section.chunks = 2;
  section.group = job.pipeline.group;
  section.overlaps_messages = job.pipeline.overlap_p2p;
  section.overlap = job.tensor.overlap;
  section.hidden = job.tensor.hidden;
  section.global_batch = job.batch.global;
  auto expert = job.expert.value_or(job::Expert());
  auto& shape = section.expert.shape;
  shape.ranks = job.parallelism.expert;
  shape.tensor = expert.tensor;
  shape.capacity = expert.capacity.value_or(0);
  shape.dispatcher = expert.dispatcher;
  shape.dispatch_type = expert.dtype;
  shape.dispatch_sms = expert.dispatch_sms;
  shape.node_limit = expert.node_limit.value_or(0);
  shape.overlaps_shared = expert.shared_overlap;
  section.expert.imbalance = expert.imbalance;
  section.expert.seed = expert.seed;
  for (const char* unused : {"pipeline", "tensor", "context", "expert"})
    if (given.has(unused) && !given.has("parallelism"))
      throw InputError(given.at(unused), "nothing says over how many GPUs the model is spread",
                       "add parallelism: {tensor: 8, pipeline: 4}");
  if (section.pipeline == 1 && (section.chunks > 1 || job.pipeline.layers != job::Pipeline().layers))
    throw InputError(given.at("pipeline"), "a pipeline of one stage has no others",
                     "add parallelism: {pipeline: 4}");
  return section;
}

Parallelism degrees_of(const ParallelSection& section, int world_size) {
  int of_a_model = section.of_a_model();
  if (world_size % of_a_model != 0)
    throw InputError(section.place(),
                     fmt::format("{} GPUs are not a multiple of {}", world_size, product_text(section)),
                     "use a world size that is a multiple of their product");
  int data = world_size / of_a_model;
  if (section.data && *section.data != data)
    throw InputError(section.given->at("parallelism.data"),
                     fmt::format("{} are {} GPUs, and the world has {}", product_text(section, *section.data),
                                 *section.data * of_a_model, world_size),
                     "write data: auto");
  return {section.tensor, data, section.pipeline, section.sequence, section.context, section.context_kind};
}

std::optional<int> micro_batches_of(const ParallelSection& section, int data, std::int64_t micro_batch) {
  if (!section.global_batch) return std::nullopt;
  auto samples = data * micro_batch;
  if (*section.global_batch % samples != 0)
    throw InputError(section.given->at("batch.global"),
                     fmt::format("a batch of {} cannot be split into micro-batches of {} on {}",
                                 counted(*section.global_batch, "sample"), micro_batch,
                                 counted(data, "data-parallel rank")),
                     fmt::format("use a multiple of {}", samples));
  auto count = *section.global_batch / samples;
  if (count > kMostAccumulationSteps)
    throw InputError(section.given->at("batch"),
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
    throw InputError(section.place_of("tensor"),
                     fmt::format("nobody measured what share of its collectives {} hides", software.name),
                     "say it: tensor: {overlap: te, hidden: 0.7}");
  tensor.hidden = section.hidden.value_or(software.tensor_hidden.value_or(0));
}

ParallelOptions parallel_options(const ParallelSection& section, const Parallelism& degrees,
                                 const ModelStep& step, int micro_batches) {
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
  divides("columns of shared experts", model.shared_width());
  divides("key-value heads", model.kv_heads);
  if (model.has_linear_attention()) {
    divides("key heads of linear attention", model.linear.key_heads);
    divides("value heads of linear attention", model.linear.value_heads);
  }
  if (degrees.sequence) divides("tokens of a sequence", step.step.shape.sequence / degrees.context);
  check_context(section, degrees, step);
  ParallelOptions options;
  options.degrees = degrees;
  options.shape = {section.schedule, degrees.pipeline, section.chunks, micro_batches, section.group};
  try {
    check_shape(options.shape);
  } catch (const InputError& error) {
    auto key = fmt::format("{}.{}", error.subject() == "global" ? "batch" : "pipeline", error.subject());
    throw error.at(section.given->has(key) ? section.given->at(key) : section.place_of("pipeline"));
  }
  bool overlaps = section.overlaps_messages.value_or(section.schedule != PipelineSchedule::one_f_one_b &&
                                                     section.schedule != PipelineSchedule::gpipe);
  bool is_interleaved = section.schedule == PipelineSchedule::interleaved;
  int group = section.group > 0 ? section.group : degrees.pipeline;
  if (is_interleaved && !overlaps && micro_batches <= group && degrees.pipeline > 2)
    throw InputError(section.place_of("pipeline"),
                     "with one group of micro-batches ranks never alternate, and calls that block would hang",
                     "use more micro-batches, or overlap_p2p: true");
  if (section.group > 0 && !is_interleaved)
    throw InputError(section.given->at("pipeline.group"),
                     "only the interleaved schedule has groups of micro-batches", "remove it");
  options.messages = overlaps         ? MessageOverlap::overlapped
                     : is_interleaved ? MessageOverlap::fused
                                      : MessageOverlap::blocking;
  int stages = options.shape.stages();
  options.layers = stage_layers(*section.given, model.layers, degrees.pipeline, stages);
  return options;
}

}  // namespace ddpsim
