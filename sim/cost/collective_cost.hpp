#pragma once
// What the collectives of a communicator cost: how long each takes by itself, and what it does to the links.
// One kind for each who can say it: schedules over links, NCCL's model, that of another library, a
// measured table.
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/collective/measured_cost.hpp"
#include "sim/cost/communication.hpp"

namespace ddpsim {

// `queued`: of a collective that had to wait for the one before it.
struct CollectiveDuration {
  Seconds idle, queued;
};

class CollectiveCost {
 public:
  virtual ~CollectiveCost() = default;
  // While nobody else uses the links. Broadcasts from rank 0: of a ring all-reduce's 2 (n-1) steps a
  // broadcast has n (NCCL's tuning.cc: nsteps), so n / (2 (n-1)) of its time, wherever nothing else is known.
  [[nodiscard]] virtual CollectiveDuration alone(Operation operation, Bytes bytes) = 0;
  // The stages of the communicator's plan that carry it out, and what it takes before them without a link.
  struct OnLinks {
    Seconds before;
    std::size_t first_stage, end_stage;
  };
  // Absent: nobody says over which links it goes, and it takes what it takes alone.
  [[nodiscard]] virtual std::optional<OnLinks> on_links(Operation, Bytes) { return std::nullopt; }
};

// Of communicators that behave alike: groups of ranks, ascending.
struct GroupCost {
  std::vector<std::size_t> groups;
  std::unique_ptr<CollectiveCost> cost;
};

// By group of the folded plan where there is one. Each finds out every size once.
std::vector<GroupCost> group_costs(std::shared_ptr<const Communication> communication);
GroupCost measured_cost(std::shared_ptr<const MeasuredTable> table, int ranks);

}  // namespace ddpsim
