#include "sim/cli/synthesize_model.hpp"

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/result/metrics.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::cli {
namespace {

using config::Value;

// A value whose place, for messages, is the option.
Value scalar(const char* option, std::string text) {
  auto place = whole_file(make_source(option, text));
  return config::scalar_value(std::move(text), place);
}

// The job whose section `workload` says the same.
GivenJob job_of(const ModelOptions& options) {
  Value workload;
  workload.kind = Value::Kind::map;
  workload.span = whole_file(make_source("--model", options.model));
  auto add = [&](const char* key, Value value) {
    auto span = value.span;
    workload.entries.push_back({key, span, std::move(value)});
  };
  // Names and files that are not there are told by their option.
  auto path_of = [](PresetKind kind, const char* option, const std::string& given) {
    return scalar(option, preset_path(kind, option, given));
  };
  auto model = model_of_option("--model", options.model);
  add("model", scalar("--model", model.sizes ? model.sizes->name : model.path));
  add("micro_batch", scalar("--batch", fmt::format("{}", options.micro_batch)));
  if (options.sequence) add("sequence", scalar("--sequence", fmt::format("{}", *options.sequence)));
  if (options.dtype) add("dtype", scalar("--dtype", *options.dtype));
  if (options.gradients) add("gradients", scalar("--gradients", *options.gradients));
  if (options.framework) add("framework", path_of(PresetKind::software, "--framework", *options.framework));
  if (options.recompute) add("recompute", scalar("--recompute", *options.recompute));
  if (options.attention) {
    Value attention;
    attention.kind = Value::Kind::map;
    auto kernel = scalar("--attention", *options.attention);
    attention.span = kernel.span;
    attention.entries.push_back({"kernel", kernel.span, kernel});
    add("attention", std::move(attention));
  }
  Value root;
  root.kind = Value::Kind::map;
  root.entries.push_back({"workload", workload.span, std::move(workload)});
  return read_partial_job(root);
}

void scale_to(const ModelOptions& options, LayerTrace& trace) {
  double forward = options.forward ? *options.forward / *trace.forward : 1;
  double backward = options.backward ? *options.backward / trace.backward() : 1;
  trace.forward = options.forward.value_or(*trace.forward);
  if (options.optimizer) trace.optimizer = options.optimizer;
  for (auto& gradient : trace.gradients) {
    gradient.ready = gradient.ready * backward;
    gradient.forward_end = *gradient.forward_end * forward;
  }
  std::string given;
  for (const auto& [name, time] :
       {std::pair{"forward", options.forward}, std::pair{"backward", options.backward},
        std::pair{"optimizer", options.optimizer}})
    if (time) given += fmt::format("{}{} {}", given.empty() ? "" : ", ", name, format_seconds(*time));
  if (!given.empty())
    trace.metadata.notes.push_back("Scaled to times that were given as a whole, " + given + ".");
}

}  // namespace

SynthesizedModel synthesize_model(const ModelOptions& options) {
  if (!options.gpu)
    throw InputError(
        "nothing says which GPU computes the model",
        "give --gpu h100-sxm; without a GPU only a list of layers (--layers) with the times of both "
        "passes can be spread");
  const auto* named = model_of_option("--model", options.model).sizes;
  if (named && named->positions <= 0 && !options.sequence)
    throw InputError(fmt::format("{} takes sequences of any length", named->name),
                     "give the tokens of a sample: --sequence 4096");
  auto gpu = read_gpu(preset_path(PresetKind::gpus, "--gpu", *options.gpu));
  auto given = job_of(options);
  Files files("--model");
  auto made = read_workload_model(files, given, gpu, false);
  if (!made.step)
    throw InputError(fmt::format("--model {} is a list of layers", options.model),
                     fmt::format("give --layers {}", options.model));
  SynthesizedModel result{std::move(made.trace), std::move(made.notes)};
  MemoryMetrics memory{made.step->memory({}), gpu.memory, gpu.name};
  if (!memory.fits())
    result.notes.push_back(
        {"memory", fit_line(memory) + ", with nothing sharded: the times are those of a step that fits"});
  scale_to(options, result.trace);
  return result;
}

}  // namespace ddpsim::cli
