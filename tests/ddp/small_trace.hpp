#pragma once
// Literal traces and plans as text, for tests that fit on a screen.
#include <initializer_list>
#include <string>

#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim::test {

struct SmallGradient {
  const char* name;
  std::int64_t elements;
  DType dtype = DType::float32;
};

// In arrival order, ready after 1 s, 2 s, ...; registered in the reverse order.
inline LayerTrace small_trace(std::initializer_list<SmallGradient> gradients) {
  LayerTrace trace;
  for (const auto& g : gradients) {
    auto ready = Seconds(static_cast<double>(trace.gradients.size() + 1));
    trace.gradients.push_back(
        {.name = g.name, .elements = g.elements, .dtype = g.dtype, .ready = ready, .ready_spread = {}});
  }
  for (auto i = trace.gradients.size(); i > 0; --i) trace.registration_order.push_back(i - 1);
  return trace;
}

// "a b | c": the buckets in launch order and the gradients in each.
inline std::string show_buckets(const LayerTrace& trace, const ReductionPlan& plan) {
  std::string out;
  for (const auto& bucket : plan.buckets) {
    if (!out.empty()) out += " |";
    for (auto gradient : bucket.gradients)
      out += (out.empty() ? "" : " ") + trace.gradients[gradient].name.str();
  }
  return out;
}

inline std::string show_seconds(const std::vector<Seconds>& times) {
  std::string out;
  for (auto time : times) out += (out.empty() ? "" : " ") + std::to_string(static_cast<int>(time.value()));
  return out;
}

}  // namespace ddpsim::test
