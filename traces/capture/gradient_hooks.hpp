#pragma once
// Tells when each parameter's gradient is complete.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

namespace ddpsim {

// While one lives, `arrived` is called with a parameter's index once its gradient is accumulated in .grad:
// from a hook after the parameter's AccumulateGrad node, where DistributedDataParallel hooks in too. A
// parameter used twice is told of once, after both.
class GradientHooks {
 public:
  GradientHooks(const std::vector<at::Tensor>& parameters, const std::function<void(std::size_t)>& arrived);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  // A shared_ptr in LibTorch 1.13, an intrusive_ptr in 2.15.
  using NodePointer = decltype(torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor&>()));
  struct Hook {
    NodePointer node;  // a parameter holds its node weakly
    std::uintptr_t key;
  };
  std::vector<Hook> hooks_;
};

}  // namespace ddpsim
