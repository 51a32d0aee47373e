#pragma once
// Times of a transformer's step on one GPU, from its sizes: docs/model.md, "Compute times by law".
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/compute/compute_law.hpp"
#include "sim/compute/recompute.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// How the GPUs that share a sequence let their queries meet all keys and values: Megatron-Core's cp_comm_type
// p2p, all_gather and a2a.
enum class ContextKind { ring, all_gather, all_to_all };
inline constexpr Names<ContextKind, 3> kContextKindNames{{{"ring", ContextKind::ring},
                                                          {"all_gather", ContextKind::all_gather},
                                                          {"all_to_all", ContextKind::all_to_all}}};

// How tokens reach the ranks of their experts, and come back: each to those it goes to, or all to all, of
// which every rank takes its own (Megatron-Core's moe_token_dispatcher_type alltoall and allgather); by
// DeepEP's kernels (flex), normal or of low latency; by TensorRT-LLM's in an NVLink domain.
enum class Dispatcher { all_to_all, all_gather, deepep, deepep_low_latency, rack };
inline constexpr Names<Dispatcher, 5> kDispatcherNames{
    {{"all_to_all", Dispatcher::all_to_all},
     {"all_gather", Dispatcher::all_gather},
     {"deepep", Dispatcher::deepep},
     {"deepep_low_latency", Dispatcher::deepep_low_latency},
     {"rack", Dispatcher::rack}}};
constexpr bool is_of_nccl(Dispatcher dispatcher) {
  return dispatcher == Dispatcher::all_to_all || dispatcher == Dispatcher::all_gather;
}

// Of what other dispatchers than NCCL's send to experts.
enum class DispatchType { bfloat16, float8 };
inline constexpr Names<DispatchType, 2> kDispatchTypeNames{
    {{"bf16", DispatchType::bfloat16}, {"fp8", DispatchType::float8}}};
inline constexpr int kUsualDispatchSms = 20;  // DeepEP's Buffer.num_sms

// Of a block with experts.
struct ExpertShape {
  int ranks = 1;   // that have a share of the experts each
  int tensor = 1;  // ranks that share each expert: as many tokens come to all of them
  Dispatcher dispatcher = Dispatcher::all_to_all;
  DispatchType dispatch_type = DispatchType::bfloat16;
  int dispatch_sms = kUsualDispatchSms;  // multiprocessors that DeepEP's normal kernels take
  int node_limit = 0;                    // nodes that a token reaches at most; 0: all
  double capacity = 0;           // tokens an expert takes, over the mean, padded to as many; 0: all that come
  double load = 1;               // tokens of the rank with most, over the mean
  bool overlaps_shared = false;  // shared experts compute while tokens travel
  auto operator<=>(const ExpertShape&) const = default;
};

inline constexpr std::int64_t kAllBlocks = std::numeric_limits<std::int64_t>::max();

struct StepShape {
  std::int64_t micro_batch = 1, sequence = 1;  // samples; tokens a sample
  Recompute recompute = Recompute::none;
  RecomputedModules modules = {};        // selective
  std::int64_t recomputed = kAllBlocks;  // of a chunk's blocks the first so many, in that way
  int tensor = 1;                        // GPUs that share each layer
  bool casts_gradients = false;          // to float32, from the 16 bits they are computed in
  bool sequence_parallel = false;        // and the element-wise work between them
  int context = 1;                       // GPUs, or groups that share each layer, that share each sequence
  ContextKind context_kind = ContextKind::ring;
  ExpertShape expert = {};
  [[nodiscard]] bool repeats(RecomputedModule module) const {
    return recompute == Recompute::full || (recompute == Recompute::selective && modules.has(module));
  }
  // Of this GPU.
  [[nodiscard]] std::int64_t tokens() const { return micro_batch * sequence / context; }
  // That this GPU sends to experts: where they are whole, its part of what a tensor-parallel group has.
  [[nodiscard]] std::int64_t routed() const { return tokens() / (expert.ranks > 1 ? tensor : 1); }
  // Tokens that experts take of those, each as often as it goes to one.
  [[nodiscard]] double rows(const Experts& experts) const {
    return static_cast<double>(routed() * experts.top_k) *
           (expert.capacity > 0 ? expert.capacity : expert.load);
  }
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
  double hidden = 0;           // measured: the share
  bool crosses_nodes = false;  // over links between nodes
};

// Those of a pass, one after the other, and how much longer it takes by them (of a block: with the host's
// pace).
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
  bool crosses_nodes = false;
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

// Of one exchange among ranks that share experts.
struct ExpertCollectives {
  Seconds dispatch, combine;      // of tokens, to experts and back
  Seconds probabilities, counts;  // with dispatched tokens; before them, where an expert takes all that come
  Seconds gather = {}, scatter = {};  // of tokens, among the ranks that share an expert
  bool crosses_nodes = false;
};

// Those of a pass, and how much longer it takes by them. Backward, what is combined is dispatched, and the
// other way round.
struct ExpertPass {
  int dispatches = 0, combines = 0, probabilities = 0, counts = 0, gathers = 0;
  Seconds busy = {}, exposed = {};
  ExpertPass& operator+=(const ExpertPass& other);
  friend ExpertPass operator*(int times, ExpertPass pass);
};

// Of a block's parameters, those that a GPU holds before the data axis shards them.
struct HeldParameters {
  double common = 0, experts = 0;
  [[nodiscard]] double all() const { return common + experts; }
};
HeldParameters held_parameters(const Transformer& model, const StepShape& shape, BlockKind kind);

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
// Of each stage's matrices those that have gradients of their own.
using TrainedShares = std::array<double, kBlockStages>;
inline constexpr TrainedShares kAllTrained{1, 1, 1, 1, 1, 1, 1, 1};

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
  ExpertPass expert_forward, expert_backward, expert_recompute;
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
                   const ContextCollectives& context = {}, const ExpertCollectives& expert = {});

  [[nodiscard]] BlockTimes block(BlockKind kind, const TrainedShares& trained = kAllTrained) const;
  // The last one.
  [[nodiscard]] BlockTimes block() const { return block(model_.kind_of(model_.layers - 1)); }
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
  // A linear layer's matrix, of this GPU: outputs n, inputs k. `count`: experts, of as many tokens each.
  struct Matrix {
    enum class Of { all, router, experts, shared };
    BlockStage stage;
    std::int64_t n, k;
    std::int64_t tokens;
    bool is_gathered = false;  // its input, in a tensor-parallel group that splits sequences
    std::int64_t count = 1;
    Of of = Of::all;
  };
  [[nodiscard]] std::vector<Matrix> matrices(BlockKind kind) const;
  void add_attention(BlockKind kind, std::vector<Matrix>& matrices) const;
  void add_experts(std::vector<Matrix>& matrices) const;
  [[nodiscard]] Seconds product(const Product& one, Matrix::Of of) const;
  [[nodiscard]] Seconds product(const Matrix& matrix) const;
  [[nodiscard]] Seconds input_gradient(const Matrix& matrix) const;
  [[nodiscard]] Seconds weight_gradient(const Matrix& matrix) const;
  // Element-wise traffic: passes over the hidden values, half of them around each norm, and over the
  // feed-forward layer's.
  void add_traffic(BlockKind kind, bool is_forward, StageTimes& device) const;
  // Of weights or of their gradients, so many bytes each.
  void add_casts(BlockKind kind, double bytes, StageTimes& device) const;
  // To experts and back, and what they activate, on this GPU.
  void add_expert_traffic(bool is_forward, StageTimes& device) const;
  // Of a block with experts: what the host takes for it, as so many launches; none: they are counted.
  [[nodiscard]] std::optional<int> expert_launches(bool is_forward) const;
  [[nodiscard]] bool is_flash(BlockKind kind) const;
  [[nodiscard]] int more_norms() const { return static_cast<int>(model_.block_norms()) - 2; }
  [[nodiscard]] int kernels(int products, int attention, int others, int rotary) const;
  [[nodiscard]] BlockPass forward(BlockKind kind) const;
  [[nodiscard]] BlockPass backward(BlockKind kind, const TrainedShares& trained) const;
  [[nodiscard]] Seconds weight_gradients(BlockKind kind, const TrainedShares& trained) const;
  [[nodiscard]] Seconds recompute(BlockKind kind, const BlockPass& forward, Seconds communication) const;
  [[nodiscard]] Seconds recomputed_modules(BlockKind kind, const BlockPass& forward) const;
  [[nodiscard]] TensorPass tensor_forward(BlockKind kind) const;
  [[nodiscard]] TensorPass tensor_backward(BlockKind kind) const;
  [[nodiscard]] TensorPass tensor_recompute(BlockKind kind) const;
  [[nodiscard]] TensorPass timed(TensorPass pass) const;  // of collectives between products
  [[nodiscard]] ContextPass context_forward(BlockKind kind) const;
  [[nodiscard]] ContextPass context_backward(BlockKind kind) const;
  [[nodiscard]] ContextPass context_recompute(BlockKind kind) const;
  [[nodiscard]] ContextPass timed(ContextPass pass) const;
  [[nodiscard]] ExpertPass expert_pass(BlockKind kind, bool is_forward) const;
  [[nodiscard]] int attention_kernels(int alone, bool is_forward) const;
  // Of this GPU's heads.
  [[nodiscard]] AttentionWidths widths(BlockKind kind) const;
  [[nodiscard]] Seconds attention_products(BlockKind kind) const;  // forward
  [[nodiscard]] Seconds attention_forward(BlockKind kind) const;
  // Bytes of one pass over `columns` values a token.
  [[nodiscard]] Seconds passes(double columns) const;

  Transformer model_;
  ComputeLaw law_;
  StepShape shape_;
  TensorCollectives tensor_;
  ContextCollectives context_;
  ExpertCollectives expert_;
  // Of this GPU: width of the feed-forward layer, heads, rows of the vocabulary.
  std::int64_t ffn_, heads_, vocab_;
};

}  // namespace ddpsim
