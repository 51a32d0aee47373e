#pragma once
// Strategies that all-reduce all gradients: DistributedDataParallel and loops written by hand. Their plans
// are sim/ddp's, their program data_parallel_program().
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

class AllReduceStrategy : public Strategy {
 public:
  AllReduceStrategy(const StrategyTraits& its, Reducer reducer) : Strategy(its), reducer_(reducer) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override;
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override;
  // A division of what is reduced by itself.
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const override {
    overheads.passes = overheads.passes_of_one = {0, 1};
  }

 protected:
  // A buffer is filled, divided and copied back; flattening a single tensor gives that very tensor, which is
  // only divided.
  static void set_passes_by_hand(Overheads& overheads) {
    overheads.passes = {1, 2};
    overheads.passes_of_one = {0, 1};
  }

 private:
  Reducer reducer_;
};

}  // namespace ddpsim
