#pragma once
// Which GPUs a model that they share lies on, and who of them exchanges what with whom.
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/cost/communication.hpp"
#include "sim/engine/parallel_step.hpp"
#include "sim/strategy/communicators.hpp"

namespace ddpsim {

// rank = tensor + t (context + c (data + d stage)): Megatron's order. A replica is a place on the axes
// context and data: those of a stage reduce gradients with one another.
class Places {
 public:
  Places(const Parallelism& degrees, const Cluster& cluster, std::vector<int> gpu_of_rank)
      : degrees_(degrees), cluster_(cluster), gpu_of_rank_(std::move(gpu_of_rank)) {}

  [[nodiscard]] int gpu(int tensor, int replica, int stage) const;
  [[nodiscard]] const std::vector<int>& gpus() const { return gpu_of_rank_; }
  [[nodiscard]] const Parallelism& degrees() const { return degrees_; }
  [[nodiscard]] int node_of(int rank) const;
  [[nodiscard]] std::vector<int> ranks_on(int node) const;
  [[nodiscard]] std::vector<int> ranks_of_stage(int stage) const;
  // Replicas that share a node with that one, in any stage, itself first: what they send goes over the same
  // NICs.
  [[nodiscard]] std::vector<int> beside(int replica) const;
  // The first replica whose stages `from` and `to` are on different nodes; else the first.
  [[nodiscard]] int farthest(int from, int to) const;
  // Whether a message of so many bytes takes time on the links between the job's first GPU and its last, or
  // their latency alone.
  [[nodiscard]] bool is_traffic(Bytes message) const;
  // Of the tensor-parallel group that is spread over most nodes, and those of its stage beside it: all do the
  // same at once, and the step waits for the slowest.
  [[nodiscard]] std::vector<std::vector<int>> tensor_groups() const;
  // Of GPUs that share sequences, likewise; of a ring each rank with the one that it sends to.
  [[nodiscard]] std::vector<std::vector<int>> context_groups() const;
  // Of ranks that share experts: the one that is spread over most nodes, and those of its stage on its nodes.
  [[nodiscard]] std::vector<std::vector<int>> expert_groups() const;
  // Of ranks that share each expert, likewise.
  [[nodiscard]] std::vector<std::vector<int>> expert_tensor_groups() const;
  // Of a stage, where so many ranks that reduce hold the parameters together: those; those of them that have
  // the same experts; those that have the same shard.
  [[nodiscard]] std::vector<std::vector<int>> shards(int stage, int shards) const;
  [[nodiscard]] std::vector<std::vector<int>> same_experts(int stage, int shards) const;
  [[nodiscard]] std::vector<std::vector<int>> replicas(int stage, int shards) const;

 private:
  // Of groups that start at these ranks of a stage: the one that is spread over most nodes, and those beside
  // it.
  [[nodiscard]] std::vector<std::vector<int>> widest_and_beside(std::span<const int> firsts, int stride,
                                                                int count) const;
  [[nodiscard]] int node(int replica, int stage) const { return cluster_.node_of(gpu(0, replica, stage)); }
  [[nodiscard]] std::vector<int> tensor_group(int replica, int stage) const;
  [[nodiscard]] std::vector<int> context_group(int tensor, int data, int stage) const;
  [[nodiscard]] std::vector<int> expert_group(int first, int stride, int count, int stage) const;
  [[nodiscard]] std::set<int> nodes_of(const std::vector<int>& gpus) const;
  [[nodiscard]] std::set<int> nodes_of_replica(int replica) const;

  const Parallelism& degrees_;
  const Cluster& cluster_;
  std::vector<int> gpu_of_rank_;
};

// What those that share sequences do.
std::vector<Operation> operations_of(ContextKind kind);
// What those that share experts do with NCCL.
std::vector<Operation> operations_of(Dispatcher dispatcher);

// Makes the communication that of a pipeline's channels: an axis each (the strategy's one a stage). By stage
// and channel: a group that stands for the stage's.
std::vector<std::vector<std::size_t>> add_channels(const Places& places, const ParallelOptions& options,
                                                   const std::vector<PipelineChannel>& channels,
                                                   Communication& communication);

}  // namespace ddpsim
