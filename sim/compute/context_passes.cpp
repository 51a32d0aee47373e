// What the exchange of keys and values between GPUs that share sequences adds to the passes over a block:
// TransformerEngine 2.20 at d0067d0, pytorch/attention/dot_product_attention/context_parallel.py.
// docs/model.md, "Context parallelism".
#include <algorithm>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {
namespace {

Seconds left_over(Seconds message, Seconds under) {
  return std::max(Seconds(), message - under);
}

}  // namespace

ContextPass& ContextPass::operator+=(const ContextPass& other) {
  messages += other.messages;
  pairs += other.pairs;
  all_gathers += other.all_gathers;
  reduce_scatters += other.reduce_scatters;
  inputs += other.inputs;
  outputs += other.outputs;
  busy += other.busy;
  exposed += other.exposed;
  return *this;
}

ContextPass operator*(int times, ContextPass pass) {
  for (auto* count :
       {&pass.messages, &pass.pairs, &pass.all_gathers, &pass.reduce_scatters, &pass.inputs, &pass.outputs})
    *count *= times;
  pass.busy = times * pass.busy;
  pass.exposed = times * pass.exposed;
  return pass;
}

// All of it is waited for, but for a ring's messages.
ContextPass TransformerTimes::timed(ContextPass pass) const {
  pass.busy = pass.messages * context_.keys_values + pass.pairs * context_.with_gradients +
              pass.all_gathers * context_.all_gather + pass.reduce_scatters * context_.reduce_scatter +
              pass.inputs * context_.inputs + pass.outputs * context_.output;
  pass.exposed = pass.busy;
  return pass;
}

// Around a ring attention takes as many steps as it has ranks, all as long, and in each but the last the next
// keys and values arrive.
ContextPass TransformerTimes::context_forward(BlockKind kind) const {
  ContextPass pass;
  int ranks = shape_.context;
  if (ranks == 1) return pass;
  switch (shape_.context_kind) {
    case ContextKind::ring:
      pass.messages = ranks - 1;
      pass = timed(pass);
      pass.exposed = (ranks - 1) * left_over(context_.keys_values, attention_products(kind) / ranks);
      return pass;
    case ContextKind::all_gather:
      pass.all_gathers = 1;
      return timed(pass);
    case ContextKind::all_to_all:
      pass.inputs = pass.outputs = 1;
      return timed(pass);
  }
  return pass;
}

// In the first step keys and values arrive, in the last the gradients of the step before, in all others both.
ContextPass TransformerTimes::context_backward(BlockKind kind) const {
  ContextPass pass;
  int ranks = shape_.context;
  if (ranks == 1) return pass;
  switch (shape_.context_kind) {
    case ContextKind::ring: {
      pass.messages = 2;
      pass.pairs = ranks - 2;
      pass = timed(pass);
      auto step = kFlashBackward * attention_products(kind) / ranks;
      pass.exposed =
          2 * left_over(context_.keys_values, step) + (ranks - 2) * left_over(context_.with_gradients, step);
      return pass;
    }
    case ContextKind::all_gather:
      pass.all_gathers = pass.reduce_scatters = 1;
      return timed(pass);
    case ContextKind::all_to_all:
      pass.inputs = pass.outputs = 1;
      return timed(pass);
  }
  return pass;
}

// With attention; torchtitan's checkpoints keep its output.
ContextPass TransformerTimes::context_recompute(BlockKind kind) const {
  return shape_.repeats(RecomputedModule::core_attn) ? context_forward(kind) : ContextPass();
}

// A ring's steps with their corrections; the two pieces that a rank of an all-gather has.
int TransformerTimes::attention_kernels(int alone, bool is_forward) const {
  if (shape_.context == 1 || shape_.context_kind == ContextKind::all_to_all) return alone;
  if (shape_.context_kind == ContextKind::all_gather) return 2 * alone;
  return shape_.context * (alone + (is_forward ? 1 : 0));
}

}  // namespace ddpsim
