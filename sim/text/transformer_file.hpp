#pragma once
// Transformers by their sizes: `kind: transformer` maps and Hugging Face's config.json (docs/formats.md,
// "Model").
#include <optional>
#include <string>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// Whether the map is a config.json: it has no `kind`, and one of the keys that say the hidden size there.
bool is_hugging_face_config(const config::Value& root);

// A `kind: transformer` map; `name` where it has none.
Transformer read_transformer(const config::Value& root, const std::string& name);

// The same as text, every key said.
std::string write_transformer(const Transformer& model);

// A config.json as it is published. Throws InputError for models that are no dense transformer.
Transformer read_hugging_face_config(const config::Value& root, const std::string& name);

// How such a file was understood, where its model_type is none of those whose parameter counts were checked.
std::optional<Note> hugging_face_note(const config::Value& root, const Transformer& model);

}  // namespace ddpsim
