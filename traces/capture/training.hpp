#pragma once
// A training step of GPT-2, in the parts that capture times.
#include <memory>
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
  torch::Tensor forward();
  void step();  // the optimizer's

  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  bool autocast_;
  torch::Device device_;
  Gpt2LMHead model_{nullptr};
  torch::Tensor tokens_, targets_;
  std::vector<torch::Tensor> parameters_;  // in the order of registration
  std::vector<std::string> names_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace ddpsim
