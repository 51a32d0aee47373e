#pragma once
// Ways to average the gradients of a model over the ranks while it is trained.
#include <memory>
#include <vector>

#include "validate/gloo/launched_all_reduce.hpp"
#include "validate/harness/step.hpp"
#include <torch/torch.h>

namespace ddpsim::validate {

using ProcessGroup = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

class GradientReduction {
 public:
  virtual ~GradientReduction() = default;
  // Around the last micro-batch of an iteration; those before accumulate. When the last returns, the
  // gradients are averaged.
  virtual void before_forward() {}
  virtual void before_backward(const torch::Tensor& loss) { static_cast<void>(loss); }
  virtual void after_backward() {}
  // Of this iteration, in the order of launch.
  [[nodiscard]] const std::vector<LaunchedAllReduce>& launched() const { return launched_; }
  void start_iteration() { launched_.clear(); }

 protected:
  std::vector<LaunchedAllReduce> launched_;
};

std::unique_ptr<GradientReduction> make_gradient_reduction(const Reduction& reduction,
                                                           const ProcessGroup& group,
                                                           const std::vector<torch::Tensor>& parameters);

// By c10d::Reducer, the one of torch.nn.parallel.DistributedDataParallel; its communication hook divides by
// the world size and sums, as it does without a hook, and notes the times.
std::unique_ptr<GradientReduction> make_ddp_reduction(const Reduction& reduction, const ProcessGroup& group,
                                                      const std::vector<torch::Tensor>& parameters);

}  // namespace ddpsim::validate
