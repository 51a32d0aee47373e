#include "sim/program/bucketed_plan.hpp"

namespace ddpsim {

std::vector<ElementBucket> buckets_before_exceeding(const LayerTrace& trace,
                                                    const std::vector<std::size_t>& order,
                                                    std::int64_t most) {
  std::vector<ElementBucket> buckets;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto elements = trace.gradients[order[i]].elements;
    if (buckets.empty() || buckets.back().elements + elements > most) buckets.push_back({i, i, 0});
    buckets.back().end = i + 1;
    buckets.back().elements += elements;
  }
  return buckets;
}

ReductionPlan reduction_plan(const LayerTrace& trace, const BucketedPlan& plan, int accumulation_steps) {
  ReductionPlan result;
  result.strategy = plan.strategy;
  result.accumulation_steps = accumulation_steps;
  result.order = plan.order;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    Bytes bytes;
    for (auto gradient : plan.gradients(b)) bytes += trace.gradients[gradient].bytes();
    result.buckets.push_back({plan.gradients(b), bytes, plan.reduce_dtype, plan.reduced(b)});
  }
  return result;
}

std::int64_t total_elements(const LayerTrace& trace) {
  std::int64_t elements = 0;
  for (const auto& gradient : trace.gradients) elements += gradient.elements;
  return elements;
}

}  // namespace ddpsim
