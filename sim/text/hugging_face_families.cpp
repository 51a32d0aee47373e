#include "sim/text/hugging_face_families.hpp"

#include <algorithm>
#include <array>

namespace ddpsim::hugging_face {
namespace {

// Rows in the order in which they are named (tests/text/hugging_face_config_test.cpp,
// tests/text/hugging_face_models_test.cpp).
std::vector<Family> make_families() {
  auto row = [](std::string_view type, auto... changes) {
    Family family;
    family.type = type;
    (changes(family), ...);
    return family;
  };
  auto untied = [](Family& family) { family.is_tied = false; };
  auto gated = [](Family& family) { family.is_gated = true; };
  auto learned = [](Family& family) { family.has_positions = true; };
  auto rotary = [](Family& family) { family.is_rotary = true; };
  auto both_ways = [](Family& family) { family.is_causal = false; };
  auto norm_bias = [](Family& family) { family.norm_bias = true; };
  auto unchecked = [](Family& family) { family.is_checked = false; };
  auto more_positions = [](Family& family) { family.more_positions = 2; };
  auto biases = [](Biases usual, Biases biased = Biases::all, Biases unbiased = Biases::none) {
    return [=](Family& family) {
      family.biases = usual;
      family.biased = biased;
      family.unbiased = unbiased;
    };
  };
  auto norms = [](BlockNorms place) { return [=](Family& family) { family.norms = place; }; };
  auto head_norms = [](HeadNorms of) { return [=](Family& family) { family.head_norms = of; }; };
  auto all = biases(Biases::all);
  auto of_attention = biases(Biases::none, Biases::attention);
  auto always_qkv = biases(Biases::qkv, Biases::qkv, Biases::qkv);
  auto usually_qkv = biases(Biases::qkv, Biases::qkv);
  auto of_qkv = biases(Biases::none, Biases::qkv);
  auto heads_of_gemma3 = [](Family& family) {
    family.heads = 8;
    family.kv_heads = 4;
    family.head_dim = 256;
    family.vocab = 262208;
  };
  auto each = head_norms(HeadNorms::each);
  return {
      row("gpt2", learned, all),
      row("gpt_neo", learned, unchecked),
      row("bert", learned, all, both_ways),
      row("roberta", learned, more_positions, all, both_ways),
      row("mpt", learned, all),
      row("opt", learned, more_positions, all),
      row("bloom", all),
      row("gpt_neox", untied, rotary, biases(Biases::all, Biases::all, Biases::feed_forward)),
      row("gptj", untied, rotary, norm_bias, norms(BlockNorms::one), biases(Biases::feed_forward)),
      row("falcon", rotary, norm_bias),
      row("starcoder2", rotary, norm_bias, all),
      row("llama", untied, of_attention),
      row("mistral", untied),
      row("mixtral", untied),
      row("qwen2", untied, always_qkv),
      row("qwen2_moe", untied, always_qkv),
      row("qwen3", untied, each, of_attention),
      row("qwen3_moe", untied, each, of_attention),
      row("qwen3_next", untied, each, of_attention),
      row("gemma", gated, of_attention),
      row("gemma2", gated, norms(BlockNorms::both), of_attention),
      row("gemma3_text", gated, norms(BlockNorms::both), each, of_attention, heads_of_gemma3),
      row("phi3", untied),
      row("olmo2", untied, norms(BlockNorms::after), head_norms(HeadNorms::all), of_attention),
      row("glm", untied, usually_qkv),
      row("glm4", untied, norms(BlockNorms::both), usually_qkv),
      row("glm4_moe", untied, of_qkv),
      row("deepseek", untied, of_qkv),
      row("deepseek_v2", untied),
      row("deepseek_v3", untied),
      row("kimi_k2", untied),
      row("llama4_text", untied, of_attention),
      row("gpt_oss", untied, of_attention),
  };
}

const std::vector<Family>& families() {
  static const auto all = make_families();
  return all;
}

}  // namespace

const Family& family_of(const std::string& type) {
  static const Family unknown{.is_checked = false};
  auto found = std::ranges::find(families(), type, &Family::type);
  return found == families().end() ? unknown : *found;
}

std::vector<std::string_view> checked_types() {
  std::vector<std::string_view> types;
  for (const auto& family : families())
    if (family.is_checked) types.push_back(family.type);
  return types;
}

}  // namespace ddpsim::hugging_face
