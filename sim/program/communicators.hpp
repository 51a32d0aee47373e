#pragma once
// Whom the communicators of a strategy's program join, and what they do.
#include <compare>
#include <string>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/program/fsdp.hpp"
#include "sim/program/parameter_server.hpp"

namespace ddpsim {

// Of the ranks of a group: all; those that hold the shards of one copy of the model; those that hold the same
// shard of different copies; all, and parameter servers.
enum class Joined { all, shards, replicas, servers };

struct CommunicatorUse {
  std::string axis = "data";
  Joined joined = Joined::all;
  std::vector<Operation> operations{Operation::all_reduce};  // all-reduces first
  auto operator<=>(const CommunicatorUse&) const = default;
};

// In the order of the program's. `options` are those of sharded strategies; `process_groups` those that
// DistributedDataParallel's collectives go to by turns.
std::vector<CommunicatorUse> communicators_of(Strategy strategy, const FsdpOptions& options,
                                              int process_groups = 1);
std::vector<CommunicatorUse> communicators_of(const ServerOptions& options);

}  // namespace ddpsim
