#pragma once
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

// Of strategies that all-reduce all gradients: what sim/ddp plans, data_parallel_program().
struct AllReducePlan final : StrategyPlan {
  ReductionPlan plan;
  bool is_registered;  // the order of registration decides
  explicit AllReducePlan(ReductionPlan of, bool follows = false)
      : plan(std::move(of)), is_registered(follows) {}
  [[nodiscard]] ReductionPlan reductions(const LayerTrace&, int) const override { return plan; }
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override;
  [[nodiscard]] std::size_t communicators() const override {
    return static_cast<std::size_t>(plan.process_groups);
  }
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;
  [[nodiscard]] bool follows_registration() const override { return is_registered; }
};

}  // namespace ddpsim
