#include "sim/strategies/bucketed_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/program/shard_units.hpp"

namespace ddpsim {

std::vector<ElementBucket> buckets_before_exceeding(const LayerTrace& trace,
                                                    std::span<const std::size_t> order, std::int64_t most) {
  std::vector<ElementBucket> buckets;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto elements = trace.gradients[order[i]].elements;
    if (buckets.empty() || buckets.back().elements + elements > most) buckets.push_back({i, i, 0});
    buckets.back().end = i + 1;
    buckets.back().elements += elements;
  }
  return buckets;
}

void BucketedPlan::fill_buckets(const LayerTrace& trace, std::vector<std::size_t> in_order,
                                const FillBuckets& fill) {
  std::erase_if(in_order, [&](std::size_t gradient) { return trace.gradients[gradient].is_frozen; });
  auto is_common = [&](std::size_t gradient) { return !is_of_experts(trace.gradients[gradient].name); };
  auto split =
      expert_ranks ? std::stable_partition(in_order.begin(), in_order.end(), is_common) : in_order.end();
  auto common = static_cast<std::size_t>(split - in_order.begin());
  std::span<const std::size_t> all(in_order);
  buckets = fill(all.first(common), ranks);
  if (common < all.size())
    for (auto bucket : fill(all.subspan(common), *expert_ranks))
      buckets.push_back({bucket.begin + common, bucket.end + common, bucket.elements, true});
  order = std::make_shared<const std::vector<std::size_t>>(std::move(in_order));
}

double BucketedPlan::ranks_that_step(const LayerTrace& trace) const {
  if (!expert_ranks) return ranks;
  double all = 0, held = 0;
  for (const auto& bucket : buckets)
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
      auto elements = static_cast<double>(trace.gradients[(*order)[i]].elements);
      all += elements;
      held += elements / ranks_of(bucket);
    }
  return held > 0 ? all / held : ranks;
}

std::vector<CommunicatorUse> with_experts(const StrategyChoice& choice, std::vector<Operation> operations) {
  std::vector<CommunicatorUse> uses{{.operations = operations}};
  if (choice.expert_shards) uses.push_back({"expert_data", Joined::experts, std::move(operations)});
  return uses;
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
  for (const auto& gradient : trace.gradients)
    if (!gradient.is_frozen) elements += gradient.elements;
  return elements;
}

}  // namespace ddpsim
