#pragma once
// What a prediction rests on that nobody measured for its job.
#include <string>

namespace ddpsim {

// The part of the step that it concerns may take `factor` times as long, or as short. docs/model.md, "What
// the range holds", has the factors and where they come from.
struct Doubt {
  // compute: forward and backward passes and the optimizer; data: what the step waits for between copies of
  // the model or of its stages; tensor, context, expert: what passes exchange; step: all of it.
  enum class Of { compute, data, tensor, context, expert, step };
  Of of = Of::step;
  double factor = 1;
  std::string what;  // a phrase; doubts of the same phrase are one, of several parts
  bool operator==(const Doubt&) const = default;
};

}  // namespace ddpsim
