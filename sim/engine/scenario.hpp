#pragma once
// Everything one run needs, already validated.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/measured_cost.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/ddp/reduction_plan.hpp"
#include "sim/topology/topology.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

enum class Fidelity { closed_form, exact, folded, fluid };
std::string_view fidelity_name(Fidelity fidelity);

// Ranks with the same compute speed: one stands for all. slowdown >= 1 multiplies every compute time.
struct RankClass {
  int rank = 0;  // the lowest of them
  int ranks = 1;
  double slowdown = 1;
};

struct Scenario {
  std::shared_ptr<const LayerTrace> trace;  // with workload.scale_bytes applied
  int world_size = 0;
  std::vector<RankClass> rank_classes;  // by lowest rank
  DdpOptions ddp;
  ReductionPlan plan;
  // How long an all-reduce takes: exactly one of the two.
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const MeasuredCost> measured_cost;
  Fidelity fidelity = Fidelity::fluid;
  // Somebody's measured iteration times for this sweep (validation.measured), as an absolute or
  // working-directory path.
  std::optional<std::string> measured_iterations;

  [[nodiscard]] std::string algorithm() const { return topology ? "ring" : "measured"; }
  // The class whose compute takes longest; it is always (one of) the last to finish. Lowest rank among
  // equals.
  [[nodiscard]] const RankClass& slowest_class() const;
};

// The all-reduce of a scenario that has a topology. Built when it is run: a schedule has an edge a rank, and
// a sweep has many scenarios.
CollectiveSchedule collective_schedule(const Scenario& scenario);

}  // namespace ddpsim
