#pragma once
// Runs of launched_rank, and what is left of them.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "validate/launch/launcher.hpp"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::validate {

class ScriptedRun {
 public:
  // One script a rank (launched_rank.cpp).
  explicit ScriptedRun(const std::vector<std::string>& scripts) {
    options.program = DDPSIM_LAUNCHED_RANK;
    options.arguments = {marker(), folder.path("")};
    options.arguments.insert(options.arguments.end(), scripts.begin(), scripts.end());
    options.placement = local_placement(static_cast<int>(scripts.size()), Loopback(), folder.path("meeting"));
    options.silence = Seconds(20);
  }

  void run() { run_ranks(options, Loopback()); }

  // What it throws.
  template <class Error>
  std::string failure() {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "no such exception";
    return {};
  }

  // Of ranks and their helpers, zombies not counted.
  [[nodiscard]] int processes() const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      std::string line{std::istreambuf_iterator<char>(file), {}};
      found += line.find(marker()) != std::string::npos;
    }
    return found;
  }
  // Whether there are `wanted` within ten seconds.
  [[nodiscard]] bool come_to_be(int wanted) const {
    for (int i = 0; i < 1000 && processes() != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return processes() == wanted;
  }
  // Neither running nor waiting to be reaped.
  [[nodiscard]] bool nothing_is_left() const {
    return come_to_be(0) && waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
  }

  ddpsim::testing::TemporaryFolder folder;
  LaunchOptions options;

 private:
  [[nodiscard]] std::string marker() const { return "marker-" + folder.path("."); }
};

}  // namespace ddpsim::validate
