#pragma once
// What is to be captured, and its options on the command line. `ddpsim capture` checks them and hands them on
// to ddpsim-capture, the program that links LibTorch; both read them here.
#include <string>
#include <vector>

#include "sim/command_line/command_line.hpp"

namespace ddpsim {

struct CaptureOptions {
  std::string model = "gpt2";  // of gpt2_presets()
  std::int64_t batch = 4;      // samples a step
  std::int64_t sequence = 1024;
  std::string device = "cpu";         // cpu | cuda
  std::string precision = "float32";  // float32 | bfloat16 (autocast; parameters and gradients stay float32)
  std::string optimizer = "adamw";    // adamw | sgd
  double dropout = 0.1;
  int iterations = 20, warmup = 5;
  int threads = 0;  // of LibTorch on the CPU; 0: one a core
  std::uint64_t seed = 0;
  bool quiet = false;
  std::string out;
  std::string steps;  // empty: not wanted

  void add_to(Command& command);
  // The command line of the same options; what does not change the measurement (--out, --steps, --quiet) is
  // left out of `measurement`, which the trace's header quotes.
  [[nodiscard]] std::vector<std::string> measurement() const;
  [[nodiscard]] std::vector<std::string> arguments() const;
};

}  // namespace ddpsim
