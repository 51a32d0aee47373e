#include "traces/torch_gpt2/gpt2_model.hpp"

#include <cmath>
#include <limits>

namespace ddpsim {
namespace {

using torch::Tensor;
namespace nn = torch::nn;

// Calls the module and says so.
template <typename Module>
Tensor passed(Module& module, const Tensor& x, const AfterModule& after) {
  auto y = module(x);
  after(*module);
  return y;
}

constexpr double kInitialDeviation = 0.02;  // Radford et al. 2018, section 4.1
constexpr double kLayerNormEpsilon = 1e-5;

nn::LayerNorm layer_norm(std::int64_t width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}).eps(kLayerNormEpsilon));
}

// y = x W + b with W of (inputs, outputs).
class Conv1DImpl : public nn::Module {
 public:
  Conv1DImpl(std::int64_t inputs, std::int64_t outputs)
      : weight_(register_parameter("weight", torch::empty({inputs, outputs}))),
        bias_(register_parameter("bias", torch::empty({outputs}))) {}

  Tensor forward(const Tensor& x) {
    auto shape = x.sizes().vec();
    shape.back() = weight_.size(1);
    return torch::addmm(bias_, x.reshape({-1, weight_.size(0)}), weight_).view(shape);
  }

 private:
  Tensor weight_, bias_;
};
TORCH_MODULE(Conv1D);

#if TORCH_VERSION_MAJOR >= 2
Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double dropout) {
  return at::scaled_dot_product_attention(q, k, v, {}, dropout, /*is_causal=*/true);
}
#else
Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double dropout) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  auto future = torch::ones({q.size(-2), k.size(-2)}, q.options().dtype(torch::kBool)).triu(1);
  auto weights =
      torch::softmax(scores.masked_fill(future, -std::numeric_limits<float>::infinity()), -1).to(v.dtype());
  return torch::matmul(torch::dropout(weights, dropout, dropout > 0), v);
}
#endif

class AttentionImpl : public nn::Module {
 public:
  AttentionImpl(const Transformer& size, double dropout)
      : width_(size.hidden),
        heads_(size.heads),
        dropout_(dropout),
        c_attn_(register_module("c_attn", Conv1D(width_, 3 * width_))),
        c_proj_(register_module("c_proj", Conv1D(width_, width_))) {}

  Tensor forward(const Tensor& x, const AfterModule& after) {
    auto batch = x.size(0), sequence = x.size(1);
    auto qkv = passed(c_attn_, x, after).split(width_, 2);
    auto heads = [&](const Tensor& t) {
      return t.view({batch, sequence, heads_, width_ / heads_}).transpose(1, 2);
    };
    auto y = causal_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), is_training() ? dropout_ : 0);
    return passed(c_proj_, y.transpose(1, 2).reshape({batch, sequence, width_}), after);
  }

 private:
  std::int64_t width_, heads_;
  double dropout_;
  Conv1D c_attn_, c_proj_;
};
TORCH_MODULE(Attention);

class MlpImpl : public nn::Module {
 public:
  explicit MlpImpl(const Transformer& size)
      : c_fc_(register_module("c_fc", Conv1D(size.hidden, size.ffn))),
        c_proj_(register_module("c_proj", Conv1D(size.ffn, size.hidden))) {}
  Tensor forward(const Tensor& x, const AfterModule& after) {
    return passed(c_proj_, torch::gelu(passed(c_fc_, x, after), "tanh"), after);
  }

 private:
  Conv1D c_fc_, c_proj_;
};
TORCH_MODULE(Mlp);

class BlockImpl : public nn::Module {
 public:
  BlockImpl(const Transformer& size, double dropout)
      : ln_1_(register_module("ln_1", layer_norm(size.hidden))),
        attn_(register_module("attn", Attention(size, dropout))),
        ln_2_(register_module("ln_2", layer_norm(size.hidden))),
        mlp_(register_module("mlp", Mlp(size))),
        drop_(register_module("drop", nn::Dropout(dropout))) {}

  Tensor forward(Tensor x, const AfterModule& after) {
    x = x + drop_(attn_(passed(ln_1_, x, after), after));
    return x + drop_(mlp_(passed(ln_2_, x, after), after));
  }

 private:
  nn::LayerNorm ln_1_;
  Attention attn_;
  nn::LayerNorm ln_2_;
  Mlp mlp_;
  nn::Dropout drop_;
};
TORCH_MODULE(Block);

}  // namespace

std::string_view attention_kind() {
  return TORCH_VERSION_MAJOR >= 2 ? "scaled_dot_product_attention" : "softmax(QK^T)V";
}

Gpt2ModelImpl::Gpt2ModelImpl(const Transformer& size, double dropout)
    : wte_(register_module("wte", nn::Embedding(size.vocab, size.hidden))),
      wpe_(register_module("wpe", nn::Embedding(size.positions, size.hidden))),
      drop_(register_module("drop", nn::Dropout(dropout))),
      blocks_(register_module("h", nn::ModuleList())) {
  for (int i = 0; i < size.layers; ++i) blocks_->push_back(Block(size, dropout));
  ln_f_ = register_module("ln_f", layer_norm(size.hidden));
  torch::NoGradGuard no_gradients;
  for (const auto& parameter : named_parameters()) {
    const auto& name = parameter.key();
    if (name.ends_with(".bias"))
      parameter.value().zero_();
    else if (parameter.value().dim() > 1)
      parameter.value().normal_(0, kInitialDeviation);
  }
}

Tensor Gpt2ModelImpl::forward(const Tensor& tokens, const AfterModule& after) {
  auto positions = torch::arange(tokens.size(1), tokens.options());
  // One after the other: the backward pass comes to them in the reverse of this order.
  auto token = passed(wte_, tokens, after);
  auto position = passed(wpe_, positions, after);
  auto x = drop_(token + position);
  for (const auto& block : *blocks_) x = block->as<Block>()->forward(x, after);
  return passed(ln_f_, x, after);
}

Gpt2LMHeadImpl::Gpt2LMHeadImpl(const Transformer& size, double dropout)
    : transformer_(register_module("transformer", Gpt2Model(size, dropout))) {}

Tensor Gpt2LMHeadImpl::forward(const Tensor& tokens, const Tensor& targets, const AfterModule& after) {
  auto hidden = transformer_(tokens, after);
  auto logits = torch::matmul(hidden, transformer_->token_embedding().t());
  return torch::cross_entropy_loss(logits.view({-1, logits.size(-1)}), targets.view({-1}));
}

}  // namespace ddpsim
