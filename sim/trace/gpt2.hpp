#pragma once
// The parameter tensors of GPT-2: names, sizes, the order in which the model registers them, and the order in
// which the backward pass delivers their gradients.
//
// The arrival order was found by running a small GPT-2 (Conv1D layers as addmm, dropout, tied and untied
// head) in LibTorch 1.13 with a post hook on each AccumulateGrad node; nn.Linear in place of Conv1D, and
// every iteration, gave the same order.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct Gpt2Size {
  std::string_view name;
  int layers;
  int width;
};

// Radford et al., "Language Models are Unsupervised Multitask Learners", table 2; names as published with the
// weights.
inline constexpr std::array<Gpt2Size, 4> kGpt2Sizes{
    {{"gpt2", 12, 768}, {"gpt2-medium", 24, 1024}, {"gpt2-large", 36, 1280}, {"gpt2-xl", 48, 1600}}};
const Gpt2Size& find_gpt2_size(std::string_view name);  // one of the four; an internal error otherwise
inline constexpr std::int64_t kGpt2Vocabulary = 50257;
inline constexpr std::int64_t kGpt2Positions = 1024;

struct Gpt2Tensor {
  std::string name;  // "transformer.h.0.attn.c_attn.weight"
  std::int64_t elements = 0;
  std::size_t parameter = 0;  // place in the order of registration, from 0
};

// The tensors of one module, in arrival order. They are outputs of one autograd node, so their gradients are
// computed together: of addmm(bias, x, weight) first the bias, of layer_norm(x, weight, bias) first the
// weight.
struct Gpt2Module {
  std::vector<Gpt2Tensor> tensors;
  [[nodiscard]] std::int64_t elements() const;
};

enum class Gpt2LayerKind { token_embedding, position_embedding, block, final_norm, lm_head };

struct Gpt2Layer {
  Gpt2LayerKind kind = Gpt2LayerKind::block;
  int block = 0;  // which one, for a block
  std::vector<Gpt2Module>
      modules;  // in forward order, which is the order of registration; backward runs in reverse
  [[nodiscard]] std::int64_t elements() const;
};

// From the token embedding to the lm_head, in forward order. Tied: the lm_head uses the token embedding's
// weight and has no modules of its own.
std::vector<Gpt2Layer> gpt2_layers(const Gpt2Size& size, bool tied_embedding);

// All tensors, flat, in the order of model.parameters().
std::vector<Gpt2Tensor> gpt2_registration_order(const Gpt2Size& size, bool tied_embedding);

// All tensors, flat, in the order in which their gradients arrive. A tied embedding arrives once, last, after
// both its uses.
std::vector<Gpt2Tensor> gpt2_arrival_order(const Gpt2Size& size, bool tied_embedding);

}  // namespace ddpsim
