// What the hooks of a capture cost the backward pass: gpt2 with one sample of 64 tokens on one thread of the
// CPU, steps with and without hooks in turn. Usage: hook_cost [PAIRS]
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "traces/capture/event_clock.hpp"
#include "traces/capture/gradient_hooks.hpp"
#include "traces/capture/training.hpp"
#include <fmt/core.h>

namespace {

double backward_seconds(ddpsim::Training& training) {
  training.zero_gradients();
  auto loss = training.forward();
  auto start = std::chrono::steady_clock::now();
  loss.backward();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  int pairs = argc > 1 ? std::atoi(argv[1]) : 30;
  at::set_num_threads(1);  // steadier than one a core
  ddpsim::CaptureOptions options;
  options.batch = 1;
  options.sequence = 64;
  options.optimizer = "sgd";
  ddpsim::Training training(options);
  auto clock = ddpsim::make_host_clock(training.parameters().size());
  std::vector<std::size_t> arrival;
  std::vector<double> without, with, ratios;
  for (int pair = -2; pair < pairs; ++pair) {  // two to warm up
    double bare = backward_seconds(training);
    ddpsim::GradientHooks hooks(training.parameters(), [&](std::size_t parameter) {
      arrival.push_back(parameter);
      clock->mark(parameter);
    });
    double hooked = backward_seconds(training);
    if (pair < 0) continue;
    without.push_back(bare);
    with.push_back(hooked);
    ratios.push_back(hooked / bare);
  }
  fmt::print("{} with --batch 1 --sequence 64 on {} thread, {} pairs of steps\n", options.model,
             at::get_num_threads(), pairs);
  fmt::print("backward without hooks {:.1f} ms, with {:.1f} ms (medians)\n", 1e3 * quantile(without, 0.5),
             1e3 * quantile(with, 0.5));
  fmt::print("with / without: median {:.4f}, middle half {:.4f} to {:.4f}\n", quantile(ratios, 0.5),
             quantile(ratios, 0.25), quantile(ratios, 0.75));
  // The hooks alone, a thousand times.
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    arrival.clear();
    for (std::size_t parameter = 0; parameter < training.parameters().size(); ++parameter) {
      arrival.push_back(parameter);
      clock->mark(parameter);
    }
  }
  double alone = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1000;
  fmt::print("what {} hooks do takes {:.1f} us, {:.5f} % of that backward\n", training.parameters().size(),
             1e6 * alone, 100 * alone / quantile(without, 0.5));
}
