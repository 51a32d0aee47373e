#include "validate/gloo/gradient_reduction.hpp"

#include "traces/capture/gradient_hooks.hpp"

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

// What they have in common: the group, and how to wait for what was launched.
class Direct : public GradientReduction {
 public:
  Direct(ProcessGroup group, std::vector<torch::Tensor> parameters)
      : group_(std::move(group)), parameters_(std::move(parameters)) {}

 protected:
  void launch_average(torch::Tensor tensor) {
    tensor.div_(group_->getSize());
    launched_.push_back(launch_all_reduce(*group_, std::move(tensor)));
  }
  void wait() {
    for (const auto& one : launched_) one.work->wait();
  }

  ProcessGroup group_;
  std::vector<torch::Tensor> parameters_;
};

class Naive : public Direct {
 public:
  using Direct::Direct;
  void after_backward() override {
    torch::NoGradGuard no_gradients;
    for (auto parameter = parameters_.rbegin(); parameter != parameters_.rend(); ++parameter)
      launch_average(parameter->grad());
    wait();
  }
};

class Flat : public Direct {
 public:
  using Direct::Direct;
  void after_backward() override {
    torch::NoGradGuard no_gradients;
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : parameters_) gradients.push_back(parameter.grad().flatten());
    auto all = torch::cat(gradients);
    launch_average(all);
    wait();
    std::int64_t first = 0;
    for (auto& parameter : parameters_) {
      parameter.mutable_grad().copy_(all.narrow(0, first, parameter.numel()).view_as(parameter));
      first += parameter.numel();
    }
  }
};

class Overlap : public Direct {
 public:
  Overlap(ProcessGroup group, std::vector<torch::Tensor> parameters)
      : Direct(std::move(group), std::move(parameters)), hooks_(parameters_, [this](std::size_t parameter) {
          torch::NoGradGuard no_gradients;
          if (active_) launch_average(parameters_[parameter].grad());
        }) {}
  void before_backward(const torch::Tensor&) override { active_ = true; }
  void after_backward() override {
    active_ = false;
    wait();
  }

 private:
  bool active_ = false;
  GradientHooks hooks_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_gradient_reduction(const Reduction& reduction,
                                                           const ProcessGroup& group,
                                                           const std::vector<torch::Tensor>& parameters) {
  switch (reduction.kind) {
    case Reduction::Kind::none:
      return std::make_unique<GradientReduction>();
    case Reduction::Kind::naive:
      return std::make_unique<Naive>(group, parameters);
    case Reduction::Kind::flat:
      return std::make_unique<Flat>(group, parameters);
    case Reduction::Kind::overlap:
      return std::make_unique<Overlap>(group, parameters);
    case Reduction::Kind::ddp:
      return make_ddp_reduction(reduction, group, parameters);
  }
  throw InternalError("an unknown way to reduce gradients");
}

}  // namespace ddpsim::validate
