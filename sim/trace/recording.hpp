#pragma once
// One training step of a PyTorch script as one rank of a job, as `ddpsim record` writes it
// (docs/reference/traces.md, "Recordings"): what the host issued, in its order.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

// Items name others by their number, from 0: those come before.
enum class RecordedPhase { forward, recompute, backward, optimizer };
inline constexpr Names<RecordedPhase, 4> kRecordedPhaseNames{{{"forward", RecordedPhase::forward},
                                                              {"recompute", RecordedPhase::recompute},
                                                              {"backward", RecordedPhase::backward},
                                                              {"optimizer", RecordedPhase::optimizer}}};
// A kernel on a stream.
struct RecordedOperator {
  std::string name;                               // PyTorch's: "addmm", "fsdp::all_gather_copy_in"
  std::string dtype;                              // PyTorch's, of its operands where it has `flops`
  double flops = 0;                               // causal attention counts in full
  std::vector<std::vector<std::int64_t>> shapes;  // of its tensors; empty: not said
  bool is_causal = false, is_compiled = false;
  double read = 0, written = 0;  // bytes
  RecordedPhase phase{};
  std::size_t module = 0, stream = 0;
};
// Launched from a stream behind `on`, onto the stream of its group.
struct LaunchedCollective {
  std::optional<Operation> operation;  // none: a barrier
  bool is_send = false;                // of send_recv: the half that sends
  std::size_t group = 0;
  Bytes bytes;
  std::string dtype;
  RecordedPhase phase{};
  std::vector<std::size_t> on;
  bool is_of_cpu = false;
  bool is_uneven = false;            // of an all-to-all: its parts are not alike
  int peer = 0;                      // of send_recv: the other rank
  std::optional<std::size_t> batch;  // those of one go in one kernel; none: in one of its own
  std::size_t stream = 0;
  SourceSpan place;
};
// What follows on the stream begins when these have ended.
struct RecordedWait {
  std::vector<std::size_t> on;
  std::size_t stream = 0;
};
// The host stops until these have ended.
struct RecordedStop {
  std::string what;
  std::vector<std::size_t> on;
};
// What memory holds, as the recorder tells it: the first that fits.
enum class RecordedUse { parameters, optimizer, gradients, collectives, activations, temporaries, other };
inline constexpr Names<RecordedUse, 7> kRecordedUseNames{{{"parameters", RecordedUse::parameters},
                                                          {"optimizer", RecordedUse::optimizer},
                                                          {"gradients", RecordedUse::gradients},
                                                          {"collectives", RecordedUse::collectives},
                                                          {"activations", RecordedUse::activations},
                                                          {"temporaries", RecordedUse::temporaries},
                                                          {"other", RecordedUse::other}}};
// A storage on the GPU, by its number; what was there before the step comes first.
struct RecordedAllocation {
  std::size_t storage = 0;
  Bytes bytes;
  RecordedUse use{};
};
struct RecordedFree {
  std::size_t storage = 0;
};
// Of a model under DistributedDataParallel, by its parameter.
struct RecordedGradient {
  std::size_t parameter = 0;
};
using RecordedItem = std::variant<RecordedOperator, LaunchedCollective, RecordedWait, RecordedStop,
                                  RecordedAllocation, RecordedFree, RecordedGradient>;

// Ranks of the job: `count` from `first` on, `stride` apart, or those listed.
struct RecordedGroup {
  std::string name;  // an axis of the device mesh, "world", or empty
  int first = 0, stride = 1, count = 1;
  std::vector<int> ranks = {};  // where they are at no equal distances
};
struct RecordedTensor {
  std::vector<std::int64_t> shape;
  std::string dtype;
};
struct RecordedParameter {
  std::string name;
  std::int64_t elements = 0;  // on this rank
  std::string dtype;
  bool is_trained = true;
  std::vector<std::int64_t> shape;  // of all of it
};

struct Recording {
  std::string torch;
  std::vector<std::string> script;  // with its arguments
  int world_size = 1, rank = 0;
  SourceSpan world_size_place, rank_place;
  std::string gpu;                                     // which one the script saw
  bool matmul_in_tf32 = false, cudnn_in_tf32 = false;  // products and convolutions of float32
  std::vector<RecordedTensor> inputs;                  // of the model's first call
  std::vector<RecordedGroup> groups;
  std::vector<RecordedParameter> parameters;
  std::vector<std::string> modules;
  std::vector<std::string> notes;  // what it says of itself
  std::vector<RecordedItem> items;

  // Whether the model is under DistributedDataParallel, whose gradients any number of ranks have alike.
  [[nodiscard]] bool is_of_ddp() const;
  // How often a forward pass begins behind a backward pass, or first.
  [[nodiscard]] int micro_batches() const;
};
// Of one job, each of a rank that does what no other of them does.
using Recordings = std::vector<std::shared_ptr<const Recording>>;

// What an operator's kernels do, by PyTorch's name of it.
enum class OperatorClass {
  product,    // of matrices
  attention,  // a fused kernel
  convolution,
  elementwise,  // norms, activations, losses and reductions too
  copy,         // casts, embeddings and optimizer steps too: each value is read and written once
  none          // no kernel
};
OperatorClass class_of(const RecordedOperator& op);
// Of the package flash-attn, whose tensors have tokens before heads.
bool is_of_flash_attn(const RecordedOperator& op);
// Of copies those into and out of what collectives communicate.
bool is_copy_in(const RecordedOperator& op);
bool is_copy_out(const RecordedOperator& op);
// Whether DistributedDataParallel itself launched it: right behind a gradient that came, or once it waits for
// its buckets.
bool is_copied_by_ddp(const RecordedOperator& op, bool is_behind_gradient, bool is_waiting);

}  // namespace ddpsim
