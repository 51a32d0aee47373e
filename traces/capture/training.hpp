#pragma once
// A training step of GPT-2, in the parts that capture times.
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "traces/capture/command/capture_options.hpp"
#include "traces/torch_gpt2/gpt2_model.hpp"
#include <torch/torch.h>

namespace ddpsim {

class Training {
 public:
  // Builds the model and its optimizer on the device. Throws InputError when they do not fit into its memory.
  explicit Training(const CaptureOptions& options);

  void zero_gradients();  // frees them, as torch.optim does by default
  // Calls `passed` with a module's place in modules() when its forward pass is over.
  torch::Tensor forward(const std::function<void(std::size_t)>& passed = [](std::size_t) {});
  void step();  // the optimizer's

  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // Of each module that has parameters of its own, their places.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& modules() const { return modules_; }

 private:
  bool autocast_;
  torch::Device device_;
  Gpt2LMHead model_{nullptr};
  torch::Tensor tokens_, targets_;
  std::vector<torch::Tensor> parameters_;  // in the order of registration
  std::vector<std::string> names_;
  std::vector<std::vector<std::size_t>> modules_;
  std::unordered_map<const torch::nn::Module*, std::size_t> places_;  // in modules_
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace ddpsim
