#pragma once
// GPT-2 with its language-model head, to train: the tensors of sim/model, by the same names and
// registered in the same order, as in the common PyTorch GPT-2 (Radford et al. 2019; the head's weight is the
// token embedding's). Linear layers keep their weight as (inputs, outputs), as the published weights do.
#include <functional>

#include <torch/torch.h>

#include "sim/model/transformer.hpp"

namespace ddpsim {

// How attention is computed with this LibTorch: "scaled_dot_product_attention" or "softmax(QK^T)V".
std::string_view attention_kind();

// Called with each module that has parameters of its own, when its forward pass is over.
using AfterModule = std::function<void(const torch::nn::Module&)>;
inline void nothing_after(const torch::nn::Module& /*module*/) {}

class Gpt2ModelImpl : public torch::nn::Module {
 public:
  // Weights are drawn from a normal distribution of standard deviation 0.02, biases are zero. Dropout is
  // after the embeddings, on attention weights, and before each residual addition.
  Gpt2ModelImpl(const Transformer& size, double dropout);
  // Hidden states (batch, sequence, width) of tokens (batch, sequence).
  torch::Tensor forward(const torch::Tensor& tokens, const AfterModule& after = nothing_after);
  [[nodiscard]] const torch::Tensor& token_embedding() const { return wte_->weight; }

 private:
  torch::nn::Embedding wte_{nullptr}, wpe_{nullptr};
  torch::nn::Dropout drop_{nullptr};
  torch::nn::ModuleList blocks_;
  torch::nn::LayerNorm ln_f_{nullptr};
};
TORCH_MODULE(Gpt2Model);

class Gpt2LMHeadImpl : public torch::nn::Module {
 public:
  Gpt2LMHeadImpl(const Transformer& size, double dropout);
  // Mean cross-entropy of predicting `targets` (batch, sequence) from `tokens` (batch, sequence).
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& targets,
                        const AfterModule& after = nothing_after);

 private:
  Gpt2Model transformer_{nullptr};
};
TORCH_MODULE(Gpt2LMHead);

}  // namespace ddpsim
