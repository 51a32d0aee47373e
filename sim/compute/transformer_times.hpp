#pragma once
// Times of a transformer's step on one GPU, from its sizes: docs/model.md, "Compute times by law".
#include <array>

#include "sim/base/names.hpp"
#include "sim/compute/compute_law.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// What is computed again in the backward pass instead of being kept: nothing; the attention core (Korthikanti
// et al., arXiv 2205.05198, section 5); every other linear layer and all element-wise work (torchtitan's
// per-operator checkpoints); every block from its input.
enum class Recompute { none, selective, op, full };
inline constexpr Names<Recompute, 4> kRecomputeNames{{{"none", Recompute::none},
                                                      {"selective", Recompute::selective},
                                                      {"op", Recompute::op},
                                                      {"full", Recompute::full}}};

// How the GPUs that share a sequence let their queries meet all keys and values: Megatron-Core's cp_comm_type
// p2p, all_gather and a2a.
enum class ContextKind { ring, all_gather, all_to_all };
inline constexpr Names<ContextKind, 3> kContextKindNames{{{"ring", ContextKind::ring},
                                                          {"all_gather", ContextKind::all_gather},
                                                          {"all_to_all", ContextKind::all_to_all}}};

struct StepShape {
  std::int64_t micro_batch = 1, sequence = 1;  // samples; tokens a sample
  Recompute recompute = Recompute::none;
  int tensor = 1;                  // GPUs that share each layer
  bool casts_gradients = false;    // to float32, from the 16 bits they are computed in
  bool sequence_parallel = false;  // and the element-wise work between them
  int context = 1;                 // GPUs, or groups that share each layer, that share each sequence
  ContextKind context_kind = ContextKind::ring;
  // Of this GPU.
  [[nodiscard]] std::int64_t tokens() const { return micro_batch * sequence / context; }
  bool operator==(const StepShape&) const = default;
};

// How much of a tensor-parallel group's collectives is hidden under products. async: what a gradient needs
// runs under the products that do not wait for it, as Megatron-Core launches them (tensor_parallel/layers.py
// :522-558): an all-reduce, or reduce-scatter, under the weights' gradient; the all-gather of an input under
// the input's gradient. pipelined: a product in chunks, of which all collectives but one chunk's hide
// (PyTorch's async TP). measured: the stated share of all (TransformerEngine's buffers).
enum class TensorOverlap { none, async, pipelined, measured };

// Of one collective over the hidden values of a micro-batch, in a tensor-parallel group.
struct TensorCollectives {
  Seconds all_reduce, all_gather, reduce_scatter;
  Seconds small;  // all-reduce of a float32 a token: the loss' maximum, target and sum
  TensorOverlap overlap = TensorOverlap::none;
  double hidden = 0;  // measured: the share
};

// Those of a pass, one after the other, and how much longer it takes by them.
struct TensorPass {
  int all_reduces = 0, all_gathers = 0, reduce_scatters = 0, small = 0;
  Seconds busy = {}, exposed = {};
  TensorPass& operator+=(const TensorPass& other);
  friend TensorPass operator*(int times, TensorPass pass);
};

// Of one exchange in a group that shares sequences, by its kind.
struct ContextCollectives {
  Seconds keys_values, with_gradients;  // ring: to the next rank; with the gradients of those before
  Seconds all_gather, reduce_scatter;   // of the keys and values of all ranks; of their gradients
  Seconds inputs, output;               // all_to_all: of queries, keys and values; of attention's output
};

// Those of a pass, and how much longer it takes by them.
struct ContextPass {
  int messages = 0, pairs = 0;  // ring: of keys and values, or of their gradients; of both
  int all_gathers = 0, reduce_scatters = 0;
  int inputs = 0, outputs = 0;  // all_to_all
  Seconds busy = {}, exposed = {};
  ContextPass& operator+=(const ContextPass& other);
  friend ContextPass operator*(int times, ContextPass pass);
};

// A block, in forward order. Its element-wise traffic is counted where it happens.
enum class BlockStage {
  first_norm,
  query_key_value,
  attention,
  attention_output,
  second_norm,
  feed_forward_in,
  activation,
  feed_forward_out
};
inline constexpr std::size_t kBlockStages = 8;
using StageTimes = std::array<Seconds, kBlockStages>;

inline constexpr double kFlashBackward = 2.5;  // of attention over forward: it computes the scores again

// A pass over a block: how long the device works in each stage, and what the host launches.
struct BlockPass {
  StageTimes device;
  int kernels = 0;
  [[nodiscard]] Seconds total() const;
};

// A pass from end to end; the stages' shares of it are those of the device's times.
struct PassTime {
  Seconds time;
  StageTimes stages;  // they add up to it
  Seconds host;       // what the launches alone would take
};

struct BlockTimes {
  PassTime forward, backward;
  Seconds recompute;        // before backward
  Seconds weight_gradient;  // of backward
  TensorPass tensor_forward, tensor_backward, tensor_recompute;
  ContextPass context_forward, context_backward, context_recompute;
};

// The embeddings, and the final norm with logits and loss. Launches are paced over both.
struct EndTimes {
  Seconds embedding_forward, embedding_backward, head_forward, head_backward;
  Seconds head_weight_gradient;  // of head_backward
};
// Which of them a stage of a pipeline has.
struct Ends {
  bool embedding = true, head = true;
  bool operator==(const Ends&) const = default;
};

class TransformerTimes {
 public:
  // Throws InputError where the GPU has no peak for `precision`. `tensor` counts where GPUs share each layer,
  // `context` where they share sequences, which takes a flash kernel.
  TransformerTimes(const Transformer& model, const GpuDescription& gpu, const Software& software,
                   Precision precision, const StepShape& shape, const TensorCollectives& tensor = {},
                   const ContextCollectives& context = {});

  [[nodiscard]] BlockTimes block() const;
  [[nodiscard]] EndTimes ends(const Ends& of = {}) const;
  // What the ends communicate in a tensor-parallel group, whose vocabulary is split: beyond ends().
  [[nodiscard]] TensorPass tensor_ends_forward(const Ends& of) const;
  [[nodiscard]] TensorPass tensor_ends_backward(const Ends& of) const;
  // Forward, recomputation and backward of all blocks, and both ends.
  [[nodiscard]] Seconds micro_batch() const;
  [[nodiscard]] Seconds optimizer(double parameters) const;
  [[nodiscard]] const ComputeLaw& law() const { return law_; }
  // Of this GPU: padded to 128 rows a GPU where they do not divide (Megatron's make-vocab-size-divisible-by).
  [[nodiscard]] std::int64_t vocabulary_rows() const { return vocab_; }

 private:
  // A linear layer's matrix, of this GPU: outputs n, inputs k.
  struct Matrix {
    BlockStage stage;
    std::int64_t n, k;
  };
  [[nodiscard]] std::array<Matrix, 4> matrices() const;
  // Element-wise traffic: passes over the hidden values, half of them around each norm, and over the
  // feed-forward layer's.
  void add_traffic(double hidden_passes, double activation_passes, StageTimes& device) const;
  [[nodiscard]] int kernels(int products, int attention, int others) const;
  [[nodiscard]] BlockPass forward() const;
  [[nodiscard]] BlockPass backward() const;
  [[nodiscard]] Seconds weight_gradients() const;
  [[nodiscard]] Seconds recompute(const BlockPass& forward, Seconds communication) const;
  [[nodiscard]] TensorPass tensor_forward() const;
  [[nodiscard]] TensorPass tensor_backward() const;
  [[nodiscard]] TensorPass tensor_recompute() const;
  [[nodiscard]] TensorPass timed(TensorPass pass) const;  // of collectives between products
  [[nodiscard]] ContextPass context_forward() const;
  [[nodiscard]] ContextPass context_backward() const;
  [[nodiscard]] ContextPass context_recompute() const;
  [[nodiscard]] ContextPass timed(ContextPass pass) const;
  [[nodiscard]] int attention_kernels(int alone, bool is_forward) const;
  [[nodiscard]] Seconds attention_products() const;  // forward
  [[nodiscard]] Seconds attention_forward() const;
  // Bytes of one pass over `columns` values a token.
  [[nodiscard]] Seconds passes(double columns) const;

  Transformer model_;
  ComputeLaw law_;
  StepShape shape_;
  TensorCollectives tensor_;
  ContextCollectives context_;
  // Of this GPU: widths of query, key and feed-forward, heads, rows of the vocabulary.
  std::int64_t query_, key_, ffn_, heads_, vocab_;
  double attended_;  // share of the scores that the flash kernel computes
};

}  // namespace ddpsim
