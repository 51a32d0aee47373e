#pragma once
// The parameters of GPT-2 as PyTorch implementations register them, output layer tied to the token embedding,
// with gradients that arrive in the reverse order, one a millisecond. The tied embedding comes first, so its
// gradient comes last.
#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim::test {

struct Gpt2Size {
  const char* name;
  int layers;
  std::int64_t width;
};

inline constexpr Gpt2Size kGpt2Sizes[] = {
    {"gpt2", 12, 768}, {"gpt2-medium", 24, 1024}, {"gpt2-large", 36, 1280}, {"gpt2-xl", 48, 1600}};

inline LayerTrace gpt2_trace(const Gpt2Size& size, DType dtype = DType::float32) {
  constexpr std::int64_t kTokens = 50257, kPositions = 1024;
  const auto d = size.width;
  LayerTrace trace;
  auto add = [&](const std::string& name, std::int64_t elements) {
    trace.gradients.push_back(
        {.name = name, .elements = elements, .dtype = dtype, .ready = {}, .ready_spread = {}});
  };
  add("transformer.wte.weight", kTokens * d);
  add("transformer.wpe.weight", kPositions * d);
  for (int layer = 0; layer < size.layers; ++layer) {
    auto block = "transformer.h." + std::to_string(layer) + ".";
    auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      add(block + name + ".weight", in * out);
      add(block + name + ".bias", out);
    };
    linear("ln_1", 1, d);
    linear("attn.c_attn", d, 3 * d);
    linear("attn.c_proj", d, d);
    linear("ln_2", 1, d);
    linear("mlp.c_fc", d, 4 * d);
    linear("mlp.c_proj", 4 * d, d);
  }
  add("transformer.ln_f.weight", d);
  add("transformer.ln_f.bias", d);

  std::reverse(trace.gradients.begin(), trace.gradients.end());
  const auto n = trace.gradients.size();
  for (std::size_t i = 0; i < n; ++i) {
    trace.gradients[i].ready = Seconds(1e-3 * static_cast<double>(i + 1));
    trace.registration_order.push_back(n - 1 - i);
  }
  return trace;
}

}  // namespace ddpsim::test
