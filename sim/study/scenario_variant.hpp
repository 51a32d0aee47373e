#pragma once
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/knobs.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {

// A scenario as another one and what is different. Plans of thousands of gradients are large, so that of
// thousands of variants each is made when its turn comes.
struct ScenarioVariant {
  const Scenario* base;
  std::optional<Bytes> bucket_cap = {};  // of strategy ddp
  std::optional<Knobs> knobs = {};       // of what nobody measured; then iterations do not differ
  std::size_t draws = 0;                 // of what nobody measured, each simulated; 0: curves, and no draw is
  bool is_one_of_many = false;           // then curves are lines through two points

  [[nodiscard]] Scenario scenario() const;
};

// The scenarios as they are.
std::vector<ScenarioVariant> unchanged(std::span<const Scenario> scenarios);

}  // namespace ddpsim
