#pragma once
// What the all-reduces of one group take when NCCL carries them out: its choice of an algorithm and a
// protocol, the time its (calibrated) cost model gives, and the schedules it would run.
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/nccl/cost_model.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

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

  // One stage for each algorithm there is to choose, of which an all-reduce runs one. Their links
  // cost bandwidth only: latencies are in `time`.
  [[nodiscard]] CollectiveSchedule schedule(const Cluster& cluster, std::span<const int> gpus) const;

  // Whether all-reduces of any size take the same in both groups.
  [[nodiscard]] bool like(const NcclModel& other) const;

 private:
  nccl::CostModel cost_;
  std::vector<nccl::Algorithm> algorithms_;  // by stage
  std::vector<double> link_bounds_;          // seconds a byte, by stage
};

}  // namespace ddpsim
