#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "traces/capture/command/capture_options.hpp"
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/check.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/sibling_program.hpp"

namespace ddpsim::cli {
namespace {

// Becomes the program that links LibTorch.
[[noreturn]] void hand_over(std::vector<std::string> arguments) {
  auto program = sibling_program(
      "ddpsim-capture",
      "capture needs LibTorch, and this ddpsim was built without it\n"
      "hint: 'scripts/run capture ...' installs LibTorch and builds what is missing; in a build of your own, "
      "install libtorch-dev and configure with -DDDPSIM_WITH_LIBTORCH=ON");
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  throw InternalError(fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

}  // namespace

Command capture_command() {
  auto options = std::make_shared<CaptureOptions>();
  Command command{
      .name = "capture",
      .description = "Record a layer trace: train a GPT-2 here with LibTorch and time every gradient",
      .example =
          "  ddpsim capture --model gpt2 --device cpu --batch 1 --sequence 64 --iterations 3 --out trace.csv",
      .run = [options] {
        check_outputs({{"--out", options->out}, {"--steps", options->steps}});
        hand_over(options->arguments());
      }};
  options->add_to(command);
  return command;
}

}  // namespace ddpsim::cli
