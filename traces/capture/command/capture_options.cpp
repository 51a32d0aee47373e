#include "traces/capture/command/capture_options.hpp"

#include <fmt/core.h>

#include "sim/model/transformer.hpp"

namespace ddpsim {

void CaptureOptions::add_to(Command& command) {
  std::vector<std::string> models;
  for (const auto& gpt2 : gpt2_presets()) models.push_back(gpt2.name);
  auto add = [&](Option option) {
    option.shows_default = true;
    command.options.push_back(std::move(option));
  };
  add({.name = "--model", .value = &model, .description = "Size of GPT-2", .words = models});
  add({.name = "--batch", .value = &batch, .description = "Samples a step", .range = {{1, 1e6}}});
  add({.name = "--sequence",
       .value = &sequence,
       .description = "Tokens a sample",
       .range = {{1, gpt2_presets().front().positions}}});
  add({.name = "--device", .value = &device, .description = "Where it runs", .words = {"cpu", "cuda"}});
  add({.name = "--precision",
       .value = &precision,
       .description = "bfloat16 is autocast: parameters, gradients and the optimizer stay float32",
       .words = {"float32", "bfloat16"}});
  add({.name = "--optimizer",
       .value = &optimizer,
       .description = "What steps after the backward pass",
       .words = {"adamw", "sgd"}});
  add({.name = "--dropout",
       .value = &dropout,
       .description = "GPT-2's dropout, everywhere",
       .range = {{0, 0.99}}});
  add({.name = "--iterations",
       .value = &iterations,
       .description = "Training steps to record",
       .range = {{1, 1e5}}});
  add({.name = "--warmup",
       .value = &warmup,
       .description = "Training steps before those",
       .range = {{0, 1e5}}});
  add({.name = "--threads",
       .value = &threads,
       .description = "Threads of LibTorch on the CPU; 0: one a core",
       .range = {{0, 4096}}});
  add({.name = "--seed", .value = &seed, .description = "Of weights, data and dropout"});
  command.options.insert(
      command.options.end(),
      {{.name = "--out",
        .value = &out,
        .description = "Layer trace to write",
        .type = "PATH",
        .is_required = true},
       {.name = "--steps",
        .value = &steps,
        .description = "Write each step's times as CSV too: a scenario's variability.jitter draws from them",
        .type = "PATH"},
       {.name = "--quiet", .value = &quiet, .description = "No progress and no summary"}});
}

std::vector<std::string> CaptureOptions::measurement() const {
  std::vector<std::string> words;
  auto add = [&](std::string_view option, const auto& value) {
    words.emplace_back(option);
    words.push_back(fmt::format("{}", value));
  };
  add("--model", model);
  add("--batch", batch);
  add("--sequence", sequence);
  add("--device", device);
  add("--precision", precision);
  add("--optimizer", optimizer);
  add("--dropout", dropout);
  add("--iterations", iterations);
  add("--warmup", warmup);
  add("--threads", threads);
  add("--seed", seed);
  return words;
}

std::vector<std::string> CaptureOptions::arguments() const {
  auto words = measurement();
  words.insert(words.end(), {"--out", out});
  if (!steps.empty()) words.insert(words.end(), {"--steps", steps});
  if (quiet) words.emplace_back("--quiet");
  return words;
}

}  // namespace ddpsim
