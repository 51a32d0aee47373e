#pragma once
// What was timed in a row of training steps, and the layer trace it makes.
#include <string>
#include <vector>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct CapturedStep {
  Seconds forward, optimizer;
  std::vector<std::size_t> arrival;  // parameters in the order in which their gradients were complete
  std::vector<Seconds> ready;        // by parameter, from the start of the backward pass
  // By parameter, of its module, from the start of the forward pass; empty where nobody timed them.
  std::vector<Seconds> forward_ends;
};

struct CapturedParameter {
  std::string name;
  std::int64_t elements = 0;
  DType dtype = DType::float32;  // of the gradient
};

// Medians over the steps, and the standard deviation of each gradient's time where there are two steps or
// more. `parameters` are in the order of registration. Throws RunFailed when a gradient did not arrive
// exactly once in each step, or the order of arrival is not the same in all of them.
LayerTrace trace_of_steps(const std::vector<CapturedParameter>& parameters,
                          const std::vector<CapturedStep>& steps);

// The table of compute times that scenarios take jitter from (docs/reference/measured.md): a row a step.
std::string write_steps(const std::vector<CapturedStep>& steps);

// Half of the middle half's width, over the median: 0.02 means that half of the steps were within 2 %. Of the
// times at which the backward pass ended.
double backward_spread(const std::vector<CapturedStep>& steps);

}  // namespace ddpsim
