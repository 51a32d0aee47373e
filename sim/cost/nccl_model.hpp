#pragma once
// What the collectives of one group take when NCCL carries them out: its choice of an algorithm and a
// protocol, the time its (calibrated) cost model gives, and the schedules it would run.
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/cost/all_reduce_scale.hpp"
#include "sim/cost/nccl_ways.hpp"
#include "sim/nccl/cost_model.hpp"
#include "sim/nccl/peer_model.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Links that are in no cluster: what NCCL's channels let through, numbered after the cluster's own.
class ChannelLimits {
 public:
  explicit ChannelLimits(int cluster_links) : first_(cluster_links) {}
  int add(BytesPerSecond capacity) {
    capacities_.push_back(capacity);
    return first_ + static_cast<int>(capacities_.size()) - 1;
  }
  [[nodiscard]] bool has(int link) const { return link >= first_; }
  [[nodiscard]] BytesPerSecond capacity(int link) const {
    return capacities_[static_cast<std::size_t>(link - first_)];
  }

 private:
  int first_;
  std::vector<BytesPerSecond> capacities_;
};

class NcclModel {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible among these GPUs.
  NcclModel(const Cluster& cluster, std::span<const int> gpus, const nccl::Communicator& communicator,
            const nccl::Allowed& allowed, const nccl::Calibration& calibration);

  struct Choice {
    const nccl::Candidate* candidate;
    Seconds time;  // never less than the most loaded link takes
    int channels;
    std::size_t stage = 0;  // of schedule(), of an all-reduce
  };
  // Of any operation but all-to-all and send/recv.
  [[nodiscard]] Choice choose(Bytes bytes, Operation operation = Operation::all_reduce) const;
  // Of those two.
  [[nodiscard]] nccl::PeerModel::Choice choose_peers(Operation operation, Bytes bytes,
                                                     const nccl::LinkBounds& bounds) const;
  [[nodiscard]] const nccl::CostModel& cost(Operation operation = Operation::all_reduce) const;
  // The same choices with other times.
  [[nodiscard]] NcclModel scaled(const AllReduceScale& scale) const;

  // One stage for each algorithm there is to choose for an all-reduce, of which it runs one. Latencies are in
  // Choice::time. The edges of a ring carry no more than its bandwidth, each by a limit of its own;
  // pipelines, whose rounds fill and drain, have none.
  [[nodiscard]] CollectiveSchedule schedule(const Cluster& cluster, std::span<const int> gpus,
                                            ChannelLimits& limits) const;
  // The stage of another operation, likewise.
  [[nodiscard]] Stage stage(const Cluster& cluster, std::span<const int> gpus, Operation operation,
                            ChannelLimits& limits) const;

  // The cluster as its messages find it, which is only looked at.
  [[nodiscard]] NcclWays ways(const Cluster& cluster) const { return {cluster, cost_.communicator()}; }

  // Whether collectives of any size take the same in both groups.
  [[nodiscard]] bool like(const NcclModel& other) const;

 private:
  // Throws InputError where its traffic is not known well enough to be simulated.
  void check_simulated() const;
  // What the most loaded link takes for a byte of the buffer, in seconds.
  [[nodiscard]] double link_bound(Operation operation, std::size_t stage) const;

  nccl::CostModel cost_;
  std::map<Operation, nccl::CostModel> others_;
  nccl::PeerModel peers_;
  double ring_bound_ = 0;                    // of an all-reduce over rings, seconds a byte
  std::vector<nccl::Algorithm> algorithms_;  // by stage
  std::vector<double> link_bounds_;          // seconds a byte, by stage
  AllReduceScale scale_;
};

}  // namespace ddpsim
