#pragma once
// Names of models as people write them: "meta-llama/Llama-3.1-8B-Instruct" for llama-3-8b.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

// The one of `names`, or of those with aliases among them, that is meant by `written`; none: nobody's. Case,
// an owner before '/', and whether '.', '-' or '_' stands between words change nothing; nor do endings that
// change no sizes, where nothing has the name with them: -Instruct, -it, -chat, -hf, ..., a version, a date.
std::optional<std::string> name_meant_by(std::string_view written, std::span<const std::string> names);

// "; did you mean 'x'?" or nothing: the closest, aliases among them, without regard to what changes nothing.
std::string did_you_mean_model(std::string_view written, std::span<const std::string> names);

// Of a family that is no stack of attention blocks ("google-t5/t5-base"): what it is instead.
std::optional<std::string> why_not_modelled(std::string_view written);

// "model.yaml", "./llama", "runs/config.json": a file is meant, and no name.
bool looks_like_file(std::string_view written);

}  // namespace ddpsim
