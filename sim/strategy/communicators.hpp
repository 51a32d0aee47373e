#pragma once
// Whom the communicators of a strategy's program join, and what they do.
#include <compare>
#include <string>
#include <vector>

#include "sim/base/operation.hpp"

namespace ddpsim {

// Of the ranks of a group: all; those in sets of so many, so far apart; those that hold the shards of one
// copy of the model; those that hold the same shard of different copies; of those with the shards of one copy
// the ones that have the same experts; all, and parameter servers; those that are listed, where others are in
// none.
enum class Joined { all, sets, shards, replicas, experts, servers, listed };

struct CommunicatorUse {
  std::string axis = "data";
  Joined joined = Joined::all;
  std::vector<Operation> operations{Operation::all_reduce};  // all-reduces first
  int size = 0, stride = 1;                                  // of sets
  std::vector<std::vector<int>> groups = {};                 // listed: ranks
  auto operator<=>(const CommunicatorUse&) const = default;
};

}  // namespace ddpsim
