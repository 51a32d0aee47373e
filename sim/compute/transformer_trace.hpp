#pragma once
// The step of a transformer on one GPU as a layer trace, estimated by the compute law. Where a
// tensor-parallel group shares each layer, that of one of its GPUs: its parts of the matrices, and passes
// that are as much longer as the group's collectives make them.
#include "sim/compute/optimizer.hpp"
#include "sim/compute/stage_times.hpp"
#include "sim/model/transformer_modules.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct TransformerStep {
  Precision precision = Precision::bfloat16;
  DType gradients = DType::float32;
  StepShape shape;
  Optimizer optimizer = {};
  std::vector<std::string> frozen = {};  // modules without gradients (sim/base/module_names.hpp)
};

// Gradients arrive in the order of sim/model/transformer_modules.hpp, each at the end of its matrix's
// backward pass; a block's recomputation comes before its first. Throws InputError where the GPU has no peak
// for the precision, where the sequence is longer than learned positions, or where a step takes 10^9 s.
LayerTrace transformer_trace(const Transformer& model, const GpuDescription& gpu, const Software& software,
                             const TransformerStep& step);
// With the model's parts among those that are known.
LayerTrace transformer_trace(const Transformer& model, const GpuDescription& gpu, const Software& software,
                             const TransformerStep& step, KnownParts& known);

// Of consecutive blocks and the ends that stand beside them: `times` are the model's. A head whose matrix is
// the embedding's has a copy of it where no embedding is on the same rank. Throws InputError likewise.
LayerTrace stage_trace(const std::vector<TransformerPart>& parts, const Transformer& model,
                       const TransformerTimes& times, const TransformerStep& step, std::int64_t first,
                       const StageLayers& stage);

// What a GPU computes in one micro batch, for MFU and HFU. A token takes 2 operations forward and 4 backward
// for each element of a matrix, and in attention 4 and 8 for each query's value and token of the sequence, as
// if nothing were masked (Chowdhery et al., "PaLM", arXiv 2204.02311, appendix B, whose 6 N counts lookups,
// too).
struct StepWork {
  Flops model = {};          // forward and backward
  Flops recomputed = {};     // on top, where all blocks are
  FlopsPerSecond peak = {};  // of the GPU in the step's precision
  double tokens = 0;
};
StepWork step_work(const Transformer& model, const GpuDescription& gpu, const TransformerStep& step,
                   const ModelTraining& training = {});

}  // namespace ddpsim
