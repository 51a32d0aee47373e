#include "sim/program/communicators.hpp"

namespace ddpsim {

std::vector<CommunicatorUse> communicators_of(Strategy strategy, const FsdpOptions& options,
                                              int process_groups) {
  if (!is_sharded(strategy))
    return std::vector<CommunicatorUse>(
        static_cast<std::size_t>(strategy == Strategy::ddp ? process_groups : 1));
  if (all_reduces_shards(strategy)) return {{.operations = {Operation::all_reduce, Operation::all_gather}}};
  bool is_hybrid = shards_within_groups(strategy);
  std::string axis = is_hybrid ? "shard" : "data";
  auto joined = is_hybrid ? Joined::shards : Joined::all;
  std::vector<CommunicatorUse> uses;
  if (options.communicators == 2) {
    uses.push_back({axis, joined, {Operation::all_gather}});
    uses.push_back({axis, joined, {Operation::reduce_scatter}});
  } else {
    uses.push_back({axis, joined, {Operation::all_gather, Operation::reduce_scatter}});
  }
  if (is_hybrid) uses.push_back({"replica", Joined::replicas, {Operation::all_reduce}});
  return uses;
}

std::vector<CommunicatorUse> communicators_of(const ServerOptions& options) {
  std::vector<CommunicatorUse> uses{{"push", Joined::servers, {Operation::reduce}},
                                    {"pull", Joined::servers, {Operation::broadcast}}};
  if (!options.synchronous) uses.push_back({"serve", Joined::servers, {Operation::reduce}});
  return uses;
}

}  // namespace ddpsim
