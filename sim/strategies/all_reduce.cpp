#include "sim/strategies/all_reduce.hpp"

#include <algorithm>
#include <array>

#include "sim/program/shard_units.hpp"
#include "sim/strategies/bucketed_plan.hpp"
#include "sim/strategies/families.hpp"
#include "sim/strategy/all_reduce_plan.hpp"

namespace ddpsim {
namespace {

constexpr StrategyTraits traits_of(std::string_view name) {
  return {.name = name,
          .all_reduces = true,
          .shares_models = true,
          .shares_stages = true,
          .shares_experts = true};
}

class FlatStrategy final : public AllReduceStrategy {
 public:
  FlatStrategy() : AllReduceStrategy(traits_of("flat"), Reducer::flat) {}
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const override {
    set_passes_by_hand(overheads);
  }
};

StrategyTraits with_hooks(StrategyTraits traits) {
  traits.has_gradient_hooks = true;
  return traits;
}
const AllReduceStrategy kNaive(traits_of("naive"), Reducer::naive);
const FlatStrategy kFlat;
const AllReduceStrategy kOverlap(with_hooks(traits_of("overlap")), Reducer::overlap);

}  // namespace

StrategyFamily hand_written_family() {
  return {{&kNaive, &kFlat, &kOverlap}};
}

namespace {

// Of a part of the gradients, by their place.
LayerTrace part_of(const LayerTrace& trace, const std::vector<std::size_t>& mine) {
  LayerTrace part;
  std::vector<std::size_t> place(trace.gradients.size(), trace.gradients.size());
  for (auto gradient : mine) {
    place[gradient] = part.gradients.size();
    part.gradients.push_back(trace.gradients[gradient]);
  }
  for (auto gradient : trace.registration_order)
    if (place[gradient] < place.size()) part.registration_order.push_back(place[gradient]);
  return part;
}

// Experts that ranks share are left to a reducer of their own (_ddp_params_and_buffers_to_ignore), which
// launches its buckets in turn whatever the other's do.
ReductionPlan apart_from_experts(const LayerTrace& trace, Reducer reducer, const DdpOptions& options) {
  std::array<std::vector<std::size_t>, 2> of;  // common gradients, experts'
  for (std::size_t g = 0; g < trace.gradients.size(); ++g)
    of[is_of_experts(trace.gradients[g].name)].push_back(g);
  if (of[0].empty() || of[1].empty()) {
    auto plan = make_reduction_plan(trace, reducer, options);
    for (auto& bucket : plan.buckets) bucket.of_experts = of[0].empty();
    return plan;
  }
  std::array<ReductionPlan, 2> plans;
  std::vector<std::size_t> order;
  order.reserve(trace.gradients.size());
  struct Launched {
    std::size_t completing;  // with it the bucket and those before it are complete
    Bucket bucket;
  };
  std::vector<Launched> launched;
  for (bool of_experts : {false, true}) {
    plans[of_experts] = make_reduction_plan(part_of(trace, of[of_experts]), reducer, options);
    std::size_t completing = 0;
    for (auto bucket : plans[of_experts].buckets) {
      auto begin = order.size();
      for (auto gradient : bucket.gradients) order.push_back(of[of_experts][gradient]);
      bucket.gradients = std::span<const std::size_t>(order).subspan(begin);
      bucket.of_experts = of_experts;
      completing = std::max(completing, std::ranges::max(bucket.gradients));
      launched.push_back({completing, bucket});
    }
  }
  if (plans[0].launch == LaunchRule::when_ready)
    std::ranges::stable_sort(launched, {}, &Launched::completing);
  auto joined = std::move(plans[0]);
  joined.walk = nullptr;
  joined.order = std::make_shared<const std::vector<std::size_t>>(std::move(order));
  joined.buckets.clear();
  for (auto& one : launched) joined.buckets.push_back(one.bucket);
  return joined;
}

}  // namespace

std::vector<CommunicatorUse> AllReduceStrategy::communicators(const StrategyChoice& choice) const {
  return with_experts(choice, {Operation::all_reduce});
}

std::shared_ptr<const StrategyPlan> AllReduceStrategy::plan(const PlanInput& input) const {
  auto options = input.choice.ddp;
  if (input.part.stages > 1) options.reduce_every_micro_batch = false;
  auto plan = input.choice.expert_shards ? apart_from_experts(input.trace, reducer_, options)
                                         : make_reduction_plan(input.trace, reducer_, options);
  return std::make_shared<AllReducePlan>(std::move(plan), depends_on_registration(reducer_, options));
}

}  // namespace ddpsim
