#include "traces/capture/gradient_hooks.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

namespace ddpsim {
namespace {

using torch::autograd::variable_list;

class AfterAccumulation : public torch::autograd::FunctionPostHook {
 public:
  AfterAccumulation(std::size_t parameter, std::function<void(std::size_t)> arrived)
      : parameter_(parameter), arrived_(std::move(arrived)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& /*inputs*/) override {
    arrived_(parameter_);
    return outputs;
  }

 private:
  std::size_t parameter_;
  std::function<void(std::size_t)> arrived_;
};

}  // namespace

GradientHooks::GradientHooks(const std::vector<at::Tensor>& parameters,
                             const std::function<void(std::size_t)>& arrived) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(parameters[i]);
    auto key = node->add_post_hook(std::make_unique<AfterAccumulation>(i, arrived));
    hooks_.push_back({std::move(node), key});
  }
}

GradientHooks::~GradientHooks() {
  for (auto& hook : hooks_) hook.node->del_post_hook(hook.key);
}

}  // namespace ddpsim
