#pragma once
// Transformers as Hugging Face publishes them: config.json (docs/reference/launch.md, "config.json").
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// Whether the map is a config.json: it has no `kind`, and a key that every such file has.
bool is_hugging_face_config(const config::Value& root);

// A config.json as it is published. Throws InputError for models that are no stack of attention blocks, and
// for keys that change what a block is and are not known.
Transformer read_hugging_face_config(const config::Value& root, const std::string& name);

// How such a file was understood, where its model_type is none of those whose parameter counts were checked;
// what it has that is left out.
std::vector<Note> hugging_face_notes(const config::Value& root, const Transformer& model);

}  // namespace ddpsim
