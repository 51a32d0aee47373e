#include "traces/capture/command/capture_options.hpp"

#include <fmt/format.h>

#include "sim/trace/gpt2.hpp"

namespace ddpsim {
namespace {

// CLI::Range lets it through: it is neither too small nor too large.
std::string not_nan(const std::string& text) {
  return text.find_first_of("nN") == std::string::npos ? "" : fmt::format("{} is not a number", text);
}

}  // namespace

void CaptureOptions::add_to(CLI::App& command) {
  std::vector<std::string> models;
  for (const auto& size : kGpt2Sizes) models.emplace_back(size.name);
  command.add_option("--model", model, "Size of GPT-2")->check(CLI::IsMember(models))->capture_default_str();
  command.add_option("--batch", batch, "Samples a step")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--sequence", sequence, "Tokens a sample")
      ->check(CLI::Range(std::int64_t{1}, kGpt2Positions))
      ->capture_default_str();
  command.add_option("--device", device, "Where it runs")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      .add_option("--precision", precision,
                  "bfloat16 is autocast: parameters, gradients and the optimizer stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str();
  command.add_option("--optimizer", optimizer, "What steps after the backward pass")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->capture_default_str();
  command.add_option("--dropout", dropout, "GPT-2's dropout, everywhere")
      ->check(CLI::Range(0.0, 0.99) & CLI::Validator(not_nan, "", "a number"))
      ->capture_default_str();
  command.add_option("--iterations", iterations, "Training steps to record")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--warmup", warmup, "Training steps before those")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads of LibTorch on the CPU; 0: one a core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("--seed", seed, "Of weights, data and dropout")->capture_default_str();
  command.add_option("--out", out, "Layer trace to write")->required()->type_name("PATH");
  command
      .add_option("--steps", steps,
                  "Write each step's times as CSV too: a scenario's variability.jitter draws from them")
      ->type_name("PATH");
  command.add_flag("--quiet", quiet, "No progress and no summary");
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
