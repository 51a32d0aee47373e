#include "sim/strategies/bucketed_plan.hpp"

#include <fmt/format.h>

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

ReductionPlan BucketedPlan::reductions(const LayerTrace& trace, int accumulation_steps) const {
  ReductionPlan result;
  result.accumulation_steps = accumulation_steps;
  result.order = order;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Bytes bytes;
    for (auto gradient : gradients(b)) bytes += trace.gradients[gradient].bytes();
    result.buckets.push_back({gradients(b), bytes, reduce_dtype, reduced(b)});
  }
  return result;
}

Note BucketedPlan::dtypes_note(std::string_view strategy, DType held, std::string_view whose,
                               std::string_view key) const {
  return {
      fmt::format("{}-dtypes", key.substr(0, key.find('.'))),
      fmt::format(
          "strategy {} holds gradients in {} and reduces them in {}, as {} does by default "
          "or {} says; ddp and fsdp reduce in float32, fsdp1 in what it computes in, unless told otherwise",
          strategy, dtype_name(held), dtype_name(reduce_dtype), whose, key)};
}

std::int64_t total_elements(const LayerTrace& trace) {
  std::int64_t elements = 0;
  for (const auto& gradient : trace.gradients) elements += gradient.elements;
  return elements;
}

}  // namespace ddpsim
