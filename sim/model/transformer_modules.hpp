#pragma once
// The parameter tensors of a transformer: names, sizes, the order in which the model registers them, and the
// order in which the backward pass delivers their gradients.
//
// A model without a gate is written as GPT-2 is (one matrix for query, key and value; Hugging Face's
// transformer.h.0.attn.c_attn), one with a gate as Llama is (seven matrices;
// model.layers.0.self_attn.q_proj), whose blocks register their norms last (transformers, modeling_llama.py,
// LlamaDecoderLayer). Experts of a block are stacked, as transformers 5 has them (modeling_mixtral.py,
// MixtralExperts): two tensors, whichever experts got tokens.
//
// GPT-2's arrival order was found by running a small one (Conv1D layers as addmm, dropout, tied and untied
// head) in LibTorch 1.13 with a post hook on each AccumulateGrad node; nn.Linear in place of Conv1D, and
// every iteration, gave the same order. A gated block's order is the reverse of its forward pass.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/base/shared_text.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

struct ParameterTensor {
  SharedText name;  // "transformer.h.0.attn.c_attn.weight"
  std::int64_t elements = 0;
  std::size_t parameter = 0;  // place in the order of registration, from 0
  std::int64_t rows = 0;      // its first dimension; 0: not known
  bool is_frozen = false;     // it has no gradient
};

// What a module computes.
enum class ModuleRole {
  token_embedding,
  position_embedding,
  norm,
  query_key_value,
  attention_down,    // to a latent's rank, whole on every GPU of a tensor-parallel group
  attention_vector,  // norms of heads, sinks and what else is no matrix
  attention_output,
  feed_forward_in,
  feed_forward_out,
  router,
  experts_in,
  experts_out,
  head,
  extra
};

// The tensors of one module, in arrival order. They are outputs of one autograd node, so their gradients are
// computed together: of addmm(bias, x, weight) first the bias, of layer_norm(x, weight, bias) first the
// weight.
struct TransformerModule {
  ModuleRole role = ModuleRole::norm;
  std::vector<ParameterTensor> tensors;
  std::int64_t inputs = 0, outputs = 0;  // of a matrix; of each expert's
  [[nodiscard]] std::int64_t elements() const;
};

// Consecutive modules: the embeddings, each block, and what follows the last one.
struct TransformerPart {
  enum class Kind { embedding, block, head } kind = Kind::block;
  int block = 0;                           // which one, for a block
  std::vector<TransformerModule> modules;  // in forward order; backward runs in reverse
  [[nodiscard]] std::int64_t elements() const;
};

// In forward order. A tied head's module has no tensors: its gradient is the token embedding's, which arrives
// once, last, after both uses.
std::vector<TransformerPart> transformer_parts(const Transformer& model, std::int64_t sequence);

// Modules of such names (sim/base/module_names.hpp) have no gradients. Throws InputError about "frozen" where
// no module has one of them, or nothing is left to train.
void freeze(std::vector<TransformerPart>& parts, const std::vector<std::string>& names);

// The parts of a model, made once for all its traces, by however many threads: shapes that differ in their
// samples only share them.
class KnownParts {
 public:
  std::shared_ptr<const std::vector<TransformerPart>> of(const Transformer& model, std::int64_t sequence,
                                                         const std::vector<std::string>& frozen = {});

 private:
  struct Known {
    Transformer model;
    std::int64_t rows;  // of learned positions
    std::vector<std::string> frozen;
    std::shared_ptr<const std::vector<TransformerPart>> parts;
  };
  std::mutex mutex_;
  std::vector<Known> known_;
};

// All tensors, in the order of model.parameters(), and in the order in which their gradients arrive.
std::vector<ParameterTensor> registration_order(const std::vector<TransformerPart>& parts);
std::vector<ParameterTensor> arrival_order(const std::vector<TransformerPart>& parts);

}  // namespace ddpsim
