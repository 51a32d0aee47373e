#pragma once
// The gradients of each step: how large they are, and when each was ready.
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/import/pytorch_profiler/all_reduces.hpp"
#include "sim/trace/import/pytorch_profiler/compute_stream.hpp"
#include "sim/trace/import/pytorch_profiler/steps.hpp"

namespace ddpsim::pytorch_profiler {

// Where the sizes come from, the best first.
enum class SizeRule {
  shapes,   // of AccumulateGrad's input, with record_shapes=True
  copies,   // what DDP copies out of its buckets back into each gradient
  buckets,  // none: each all-reduce counts as one gradient
};

struct GradientSize {
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  auto operator<=>(const GradientSize&) const = default;
};

struct MeasuredStep {
  const Step* step = nullptr;
  StepAllReduces all_reduces;
  std::vector<GradientSize> sizes;  // in arrival order
  std::vector<Time> ready;          // of each, not decreasing
  std::vector<Time> forward_ends;   // of each one's layer, in the forward pass; empty where not known
  std::vector<Time> bucket_ready;   // of each all-reduce: when the last of its gradients was
};

struct MeasuredSteps {
  SizeRule rule = SizeRule::shapes;
  std::vector<MeasuredStep> steps;  // all with the same gradients
};

// Without the gradients that have no shape, in steps whose all-reduces hold all others and nothing else: they
// are undefined, or sparse and not reduced. Elsewhere the remarks get how many have none.
std::vector<Step> without_undefined_gradients(std::vector<Step> steps, const Collectives& collectives,
                                              std::vector<std::string>& remarks);

// Throws InputError when nothing tells the sizes, or when no two steps have the same gradients. `remarks` get
// what was left out and what is not exact.
MeasuredSteps measure_gradients(const Profile& profile, const std::vector<Step>& steps,
                                const Collectives& collectives, const ComputeStream& stream,
                                std::vector<std::string>& remarks);

}  // namespace ddpsim::pytorch_profiler
