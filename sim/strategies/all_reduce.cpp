#include "sim/strategies/all_reduce.hpp"

#include "sim/strategies/families.hpp"
#include "sim/strategy/all_reduce_plan.hpp"

namespace ddpsim {
namespace {

class FlatStrategy final : public AllReduceStrategy {
 public:
  FlatStrategy()
      : AllReduceStrategy({.name = "flat",
                           .all_reduces = true,
                           .shares_models = true,
                           .shares_stages = true,
                           .shares_experts = true},
                          Reducer::flat) {}
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const override {
    set_passes_by_hand(overheads);
  }
  // All gradients once.
  [[nodiscard]] std::optional<StageAxis> of_stages(const StagesInput& input) const override {
    StageAxis axis;
    axis.gradient_bytes = axis.parameter_bytes = bytes_per_element(input.step.step.gradients);
    axis.state = input.step.state;
    axis.overlaps_reduction = false;
    return axis;
  }
};

const AllReduceStrategy kNaive({.name = "naive", .all_reduces = true}, Reducer::naive);
const FlatStrategy kFlat;
const AllReduceStrategy kOverlap({.name = "overlap", .all_reduces = true, .has_gradient_hooks = true},
                                 Reducer::overlap);

}  // namespace

StrategyFamily hand_written_family() {
  return {{&kNaive, &kFlat, &kOverlap}};
}

std::shared_ptr<const StrategyPlan> AllReduceStrategy::plan(const PlanInput& input) const {
  return std::make_shared<AllReducePlan>(make_reduction_plan(input.trace, reducer_, input.choice.ddp),
                                         depends_on_registration(reducer_, input.choice.ddp));
}

}  // namespace ddpsim
