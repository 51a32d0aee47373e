#pragma once
// What the all-reduces of one group take when NCCL carries them out: its choice of an algorithm and a
// protocol, the time its (calibrated) cost model gives, and the schedules it would run.
#include <memory>
#include <span>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/cost/all_reduce_scale.hpp"
#include "sim/nccl/cost_model.hpp"
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
    Seconds time;       // never less than the most loaded link takes
    std::size_t stage;  // of schedule()
  };
  [[nodiscard]] Choice choose(Bytes bytes) const;
  // If NCCL were left nothing but rings; what other collectives take is derived from it.
  [[nodiscard]] Seconds ring_time(Bytes bytes) const;
  [[nodiscard]] const nccl::CostModel& cost() const { return cost_; }
  // The same choices with other times.
  [[nodiscard]] NcclModel scaled(const AllReduceScale& scale) const;

  // One stage for each algorithm there is to choose, of which an all-reduce runs one. Latencies are in
  // Choice::time. The edges of a ring carry no more than its bandwidth, each by a limit of its own;
  // pipelines, whose rounds fill and drain, have none.
  [[nodiscard]] CollectiveSchedule schedule(const Cluster& cluster, std::span<const int> gpus,
                                            ChannelLimits& limits) const;

  // Whether all-reduces of any size take the same in both groups.
  [[nodiscard]] bool like(const NcclModel& other) const;

 private:
  nccl::CostModel cost_, rings_;
  double ring_bound_ = 0;                    // of the most loaded link, seconds a byte
  std::vector<nccl::Algorithm> algorithms_;  // by stage
  std::vector<double> link_bounds_;          // seconds a byte, by stage
  AllReduceScale scale_;
};

}  // namespace ddpsim
