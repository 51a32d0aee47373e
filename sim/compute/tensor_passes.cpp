// What a tensor-parallel group's collectives add to the passes over a block: Megatron-Core 0.16.1,
// tensor_parallel/layers.py and mappings.py. docs/model.md, "Tensor parallelism".
#include <algorithm>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {
namespace {

// Of a product in as many chunks as ranks the collectives of all but one could hide. Five pairs of steps with
// and without saved 0.34 of what that would (0.18 to 0.49: docs/accuracy.md, "FSDP over tensor-parallel
// groups").
double pipelined_exposure(int ranks) {
  constexpr double kSaved = 0.34;
  return 1 - kSaved * (1 - 1.0 / ranks);
}

Seconds time_of(const TensorPass& pass, const TensorCollectives& tensor) {
  return pass.all_reduces * tensor.all_reduce + pass.all_gathers * tensor.all_gather +
         pass.reduce_scatters * tensor.reduce_scatter + pass.small * tensor.small;
}

Seconds beyond(Seconds collective, Seconds under) {
  return std::max(Seconds(), collective - under);
}

}  // namespace

TensorPass& TensorPass::operator+=(const TensorPass& other) {
  all_reduces += other.all_reduces;
  all_gathers += other.all_gathers;
  reduce_scatters += other.reduce_scatters;
  small += other.small;
  busy += other.busy;
  exposed += other.exposed;
  return *this;
}

TensorPass operator*(int times, TensorPass pass) {
  pass.all_reduces *= times;
  pass.all_gathers *= times;
  pass.reduce_scatters *= times;
  pass.small *= times;
  pass.busy = times * pass.busy;
  pass.exposed = times * pass.exposed;
  return pass;
}

// Into the two column-parallel matrices, query_key_value and feed_forward_in, activations are gathered where
// the sequence is split; out of the two row-parallel ones they are added up.
TensorPass TransformerTimes::tensor_forward(BlockKind kind) const {
  if (shape_.tensor == 1) return {};
  TensorPass pass;
  // Experts that are whole on their ranks have no part in it.
  bool is_half = kind.has_experts && shape_.expert.ranks > 1 && model_.experts.shared == 0;
  if (shape_.sequence_parallel)
    pass.all_gathers = pass.reduce_scatters = is_half ? 1 : 2;
  else
    pass.all_reduces = is_half ? 1 : 2;
  return timed(pass);
}

// The other way round; where the sequence is split, inputs of the column-parallel matrices are gathered again
// for their weights' gradients, which a measured share has in it.
TensorPass TransformerTimes::tensor_backward(BlockKind kind) const {
  auto pass = tensor_forward(kind);
  if (shape_.tensor == 1) return pass;
  if (shape_.sequence_parallel) {
    pass.busy += pass.all_gathers * tensor_.all_gather;
    pass.all_gathers *= 2;
    if (tensor_.overlap == TensorOverlap::none) pass.exposed = pass.busy;
    if (tensor_.overlap == TensorOverlap::pipelined)
      pass.exposed = pipelined_exposure(shape_.tensor) * pass.busy;
  }
  if (tensor_.overlap != TensorOverlap::async) return pass;
  pass.exposed = {};
  for (const auto& matrix : matrices(kind)) {
    if (!matrix.is_gathered) continue;
    auto under_weights = weight_gradient(matrix);
    if (shape_.sequence_parallel)
      pass.exposed += tensor_.all_gather + beyond(tensor_.all_gather, input_gradient(matrix)) +
                      beyond(tensor_.reduce_scatter, under_weights);
    else
      pass.exposed += beyond(tensor_.all_reduce, under_weights);
  }
  return pass;
}

// Forward once more; what stops early does without what follows the block's last product. Per-operator
// checkpoints keep what reduce-scatters gave (torchtitan's activation_checkpoint.py, the list of ops to
// save); the attention core communicates nothing.
TensorPass TransformerTimes::tensor_recompute(BlockKind kind) const {
  bool repeats = shape_.recompute == Recompute::full || shape_.recompute == Recompute::op;
  if (shape_.tensor == 1 || !repeats) return {};
  auto pass = tensor_forward(kind);
  auto& sums = shape_.sequence_parallel ? pass.reduce_scatters : pass.all_reduces;
  if (shape_.sequence_parallel && shape_.recompute == Recompute::op)
    sums = 0;
  else if (law_.software().early_stop && sums == 2)
    --sums;
  return timed(pass);
}

// Every rank looks up its part of the vocabulary, and the rows are added up; with learned positions each has
// the whole sum before the sequence is split (language_model_embedding.py:48-53). The loss needs the largest
// logit, the target's and the sum of all (cross_entropy.py:130-154).
TensorPass TransformerTimes::tensor_ends_forward(const Ends& of) const {
  if (shape_.tensor == 1) return {};
  TensorPass pass;
  bool splits = shape_.sequence_parallel;
  if (of.embedding) ++(splits && model_.positions == 0 ? pass.reduce_scatters : pass.all_reduces);
  if (of.head && splits) ++pass.all_gathers;
  if (of.head) pass.small = 3;
  return timed(pass);
}

TensorPass TransformerTimes::tensor_ends_backward(const Ends& of) const {
  if (shape_.tensor == 1) return {};
  TensorPass pass;
  bool splits = shape_.sequence_parallel;
  if (of.embedding && splits) ++pass.all_gathers;
  if (of.head) ++(splits ? pass.reduce_scatters : pass.all_reduces);
  return timed(pass);
}

TensorPass TransformerTimes::timed(TensorPass pass) const {
  pass.busy = pass.exposed = time_of(pass, tensor_);
  if (tensor_.overlap == TensorOverlap::measured) pass.exposed = (1 - tensor_.hidden) * pass.busy;
  if (tensor_.overlap == TensorOverlap::pipelined)
    pass.exposed = pipelined_exposure(shape_.tensor) * pass.busy;
  return pass;
}

}  // namespace ddpsim
