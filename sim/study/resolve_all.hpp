#pragma once
// Many jobs on their clusters, in threads.
#include <optional>
#include <span>
#include <vector>

#include "sim/resolve/resolve.hpp"

namespace ddpsim {

// One of the two.
struct Resolved {
  std::optional<Scenario> scenario;
  std::optional<InputError> refusal;
};
// By root. What several of them need is found once.
std::vector<Resolved> resolve_all(Files& files, std::span<const config::Value* const> roots);

}  // namespace ddpsim
