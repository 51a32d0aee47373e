#pragma once
// Buckets of gradients as ranges of an order, as ZeRO and Megatron have them: counted in elements, whatever
// the dtype.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/strategy/strategy.hpp"

namespace ddpsim {

struct ElementBucket {
  std::size_t begin = 0, end = 0;  // of the order
  std::int64_t elements = 0;       // with padding
  bool of_experts = false;         // that ranks have a share of each
};

// Of gradients in their order, for so many ranks.
using FillBuckets = std::function<std::vector<ElementBucket>(std::span<const std::size_t>, int ranks)>;

struct BucketedPlan : StrategyPlan {
  int ranks = 1;
  std::optional<int> expert_ranks;                        // that have the same experts; none: all have all
  DType param_dtype = DType::bfloat16;                    // what is computed in, and gathered
  DType reduce_dtype = DType::bfloat16;                   // what is reduced
  std::shared_ptr<const std::vector<std::size_t>> order;  // of gradients
  std::vector<ElementBucket> buckets;                     // in launch order
  Host host;                                              // of what is offloaded

  [[nodiscard]] std::span<const std::size_t> gradients(std::size_t bucket) const {
    return {order->data() + buckets[bucket].begin, buckets[bucket].end - buckets[bucket].begin};
  }
  [[nodiscard]] int ranks_of(const ElementBucket& bucket) const {
    return bucket.of_experts ? *expert_ranks : ranks;
  }
  // As many as would have the elements that a rank steps, were they shared evenly.
  [[nodiscard]] double ranks_that_step(const LayerTrace& trace) const;
  [[nodiscard]] Bytes reduced(std::size_t bucket) const {
    return bytes_of(buckets[bucket].elements, reduce_dtype);
  }
  [[nodiscard]] Bytes held_in(double elements) const {
    return Bytes(elements * bytes_per_element(param_dtype));
  }
  [[nodiscard]] std::optional<DType> reduced_in() const override { return reduce_dtype; }
  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const override;
  // Strategies side by side differ in what they reduce in. `whose`: the framework.
  [[nodiscard]] Note dtypes_note(std::string_view strategy, DType held, std::string_view whose,
                                 std::string_view key) const;
  static Bytes bytes_of(std::int64_t elements, DType dtype) {
    return Bytes(static_cast<double>(elements) * bytes_per_element(dtype));
  }

 protected:
  // Experts that ranks share have buckets of their own, behind all others.
  void fill_buckets(const LayerTrace& trace, std::vector<std::size_t> in_order, const FillBuckets& fill);
};

// The communicators of a program whose experts, where ranks share them, are reduced and gathered by those
// with the same ones.
std::vector<CommunicatorUse> with_experts(const StrategyChoice& choice, std::vector<Operation> operations);

// DeepSpeed's: the bucket is reduced before a gradient would take it beyond `most` elements; a larger one has
// a bucket of its own.
std::vector<ElementBucket> buckets_before_exceeding(const LayerTrace& trace,
                                                    std::span<const std::size_t> order, std::int64_t most);

// Of what has gradients.
std::int64_t total_elements(const LayerTrace& trace);

// The least multiple that is no less.
constexpr std::int64_t padded(std::int64_t elements, std::int64_t multiple) {
  return (elements + multiple - 1) / multiple * multiple;
}

}  // namespace ddpsim
