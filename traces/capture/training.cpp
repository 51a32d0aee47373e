#include "traces/capture/training.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include "traces/capture/host_memory.hpp"
#include "traces/torch_gpt2/autocast.hpp"
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
Training::Training(const CaptureOptions& options)
    : autocast_(options.precision == "bfloat16"),
      device_(options.device == "cuda" ? torch::kCUDA : torch::kCPU) {
  if (device_.is_cpu()) check_memory(options, memory_available());
  torch::manual_seed(options.seed);
  const auto& gpt2 = transformer_named(options.model);
  model_ = Gpt2LMHead(gpt2, options.dropout);
  model_->to(device_);
  model_->train();
  auto integers = torch::TensorOptions().dtype(torch::kInt64);
  tokens_ = torch::randint(gpt2.vocab, {options.batch, options.sequence}, integers).to(device_);
  targets_ = torch::randint(gpt2.vocab, {options.batch, options.sequence}, integers).to(device_);
  for (const auto& parameter : model_->named_parameters()) {
    names_.push_back(parameter.key());
    parameters_.push_back(parameter.value());
  }
  std::unordered_map<const void*, std::size_t> registered;
  for (std::size_t i = 0; i < parameters_.size(); ++i) registered[parameters_[i].unsafeGetTensorImpl()] = i;
  for (const auto& module : model_->modules()) {
    std::vector<std::size_t> own;
    for (const auto& parameter : module->parameters(/*recurse=*/false))
      own.push_back(registered.at(parameter.unsafeGetTensorImpl()));
    if (own.empty()) continue;
    places_[module.get()] = modules_.size();
    modules_.push_back(std::move(own));
  }
  if (options.optimizer == "adamw")
    optimizer_ = std::make_unique<torch::optim::AdamW>(parameters_, torch::optim::AdamWOptions(1e-4));
  else
    optimizer_ = std::make_unique<torch::optim::SGD>(parameters_, torch::optim::SGDOptions(1e-4));
}

void Training::zero_gradients() {
  for (auto& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
}

torch::Tensor Training::forward(const std::function<void(std::size_t)>& passed) {
  auto after = [&](const torch::nn::Module& module) { passed(places_.at(&module)); };
  if (!autocast_) return model_(tokens_, targets_, after);
  Bfloat16Autocast autocast(device_.type());
  return model_(tokens_, targets_, after);
}

void Training::step() {
  optimizer_->step();
}

}  // namespace ddpsim
