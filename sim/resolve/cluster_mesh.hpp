#pragma once
// The communicators of a strategy's program as groups of GPUs.
#include <optional>
#include <span>
#include <vector>

#include "sim/cost/communication.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/resolve/sections.hpp"
#include "sim/strategy/communicators.hpp"

namespace ddpsim {

// Every group of ranks once for each communicator of the program.
void add_axes(std::span<const GroupSection> groups, std::span<const CommunicatorUse> uses,
              std::span<const int> gpu_of_rank, Communication& communication);

// Of a job sharded within groups of consecutive ranks: how many ranks (none: those of a node). Both throw
// InputError (without a place) where the world is no such groups.
int shard_group_ranks(std::optional<int> wanted, const Cluster& cluster, std::span<const int> gpu_of_rank);
void check_shard_group(int ranks, int world_size);
// Adds the job's communicators, as one axis each; returns their ranks. Once NCCL's model has labelled them,
// settle_labels() tells apart those whose ranks differ; and once they are folded, ranks have their classes
// (unless each communicator is to be simulated, `is_folded`).
std::vector<std::vector<int>> add_mesh(std::span<const CommunicatorUse> uses, int shards,
                                       std::span<const int> gpu_of_rank, Communication& communication);
void settle_labels(std::span<const std::vector<int>> groups, std::span<const RankPlace> places,
                   std::span<const std::size_t> program_of_rank, Communication& communication);
std::vector<RankClass> mesh_classes(std::span<const std::vector<int>> groups,
                                    std::span<const RankPlace> places,
                                    std::span<const std::size_t> program_of_rank,
                                    const Communication& communication, bool is_folded);

}  // namespace ddpsim
