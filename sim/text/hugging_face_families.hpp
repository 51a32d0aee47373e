#pragma once
// What a model_type says that no key of its config.json does: transformers' configuration_*.py and
// modeling_*.py of that name.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/transformer.hpp"

namespace ddpsim::hugging_face {

struct Family {
  std::string_view type = "";
  bool is_tied = true;              // the head and the embedding, unless the file says it
  bool is_gated = false;            // whatever the activation is called
  bool has_positions = false;       // learned ones
  std::int64_t more_positions = 0;  // rows beyond those that tokens have
  bool is_causal = true;
  Biases biases = Biases::none;    // where nothing says it
  Biases biased = Biases::all;     // what attention_bias, use_bias or bias switch on, ...
  Biases unbiased = Biases::none;  // ... and leave
  BlockNorms norms = BlockNorms::before;
  HeadNorms head_norms = HeadNorms::none;
  bool norm_bias = false, is_rotary = false;
  bool is_checked = true;  // counts of such models are held by tests
  // Of files that leave them out; 0: none does.
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
};

// Of another type: one of none of them, not checked.
const Family& family_of(const std::string& type);
std::vector<std::string_view> checked_types();

}  // namespace ddpsim::hugging_face
