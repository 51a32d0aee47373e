#include "sim/job/job.hpp"

namespace ddpsim {
namespace {

bool computes_in_16_bits(const Job& job) {
  return !job.workload.dtype || activation_bytes(*job.workload.dtype) == 2;
}

using Holds = StrategyTraits::Holds;

}  // namespace

bool Job::says_type_of_weights() const {
  auto holds = strategy->traits.holds;
  bool holds_gathered =
      holds == Holds::gathered || (holds == Holds::gathered_by_stages && parallelism.pipeline > 1);
  return holds_gathered && (strategy->gathered(sections) || computes_in_16_bits(*this));
}

bool Job::holds_16_bit_weights() const {
  if (strategy->traits.holds == Holds::gathered_by_stages && splits_model()) return false;
  if (says_type_of_weights())
    return bytes_per_element(strategy->gathered(sections).value_or(DType::bfloat16)) < 4;
  return workload.gradients && bytes_per_element(*workload.gradients) < 4;
}

}  // namespace ddpsim
