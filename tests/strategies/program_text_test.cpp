// Programs as text, of jobs: each is read back as it was, and simulated to the same.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/written_programs.hpp"
#include "sim/resolve/resolve.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

const std::string kRepository = DDPSIM_SOURCE_DIR;

struct TextJob {
  std::string file;
  std::vector<std::string> settings;
  [[nodiscard]] Scenario scenario(const std::vector<std::string>& more = {}) const {
    auto root = config::load_yaml(file, "a scenario");
    config::take_sweep_axes(root);
    for (const auto& one : settings) config::apply_override(root, one);
    for (const auto& one : more) config::apply_override(root, one);
    return resolve(Files(file), root);
  }
};

Seconds iteration(const Scenario& scenario) {
  auto simulated = Simulator()(scenario);
  return simulated.timeline.last_to_finish().duration();
}

// Programs without a model's names.
WrittenProgram read_again(const std::string& text) {
  return read_program({make_source("printed", text), text}, {});
}

void expect_exact(const TextJob& job) {
  auto written = written_program(job.scenario());
  auto text = write_program(written);
  EXPECT_TRUE(read_again(text) == written) << job.file << ": " << fmt::format("{}", text.substr(0, 2000));
}

std::vector<std::string> configs() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(kRepository + "/configs"))
    if (entry.path().extension() == ".yaml") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(ProgramText, OfEveryConfigIsExact) {
  for (const auto& file : configs()) {
    if (file.find("degraded-link") != std::string::npos) continue;  // its sweep says the algorithm
    expect_exact({file, {}});
  }
}

class ProgramTextOf : public ::testing::TestWithParam<const Strategy*> {};

// And with it in a file the job takes as long to the last bit.
TEST_P(ProgramTextOf, EveryStrategyIsExact) {
  TemporaryFolder folder;
  auto file = folder.write("job.yaml",
                           "workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16}\n"
                           "cluster: {topology: dgx-h100, world_size: 8}\nspread: none\n");
  std::string name(GetParam()->name());
  std::vector<std::vector<std::string>> all{{}, {"physics=none"}, {"ddp.accumulation_steps=3"}};
  if (name.starts_with("hsdp")) all = {{"cluster={topology: superpod-h100, world_size: 32}"}};
  for (auto settings : all) {
    settings.push_back("strategy=" + name);
    TextJob job{file, settings};
    expect_exact(job);
    auto scenario = job.scenario();
    // One process, servers: what other ranks or GPUs do.
    if (scenario.is(&StrategyTraits::is_one_process) || scenario.is(&StrategyTraits::has_servers)) continue;
    auto text = folder.write("own.program", write_program(written_program(scenario)));
    settings.back() = fmt::format("strategy={{program: {}}}", text);
    EXPECT_EQ(iteration(TextJob{file, settings}.scenario()), iteration(scenario))
        << name << " " << fmt::format("{}", settings.front());
  }
}
INSTANTIATE_TEST_SUITE_P(, ProgramTextOf, ::testing::ValuesIn([] {
                           std::vector<const Strategy*> all;
                           for (const auto* one : strategies())
                             if (!one->traits.is_of_file && !one->traits.is_of_recording &&
                                 one->name() != "sign_sgd")
                               all.push_back(one);
                           return all;
                         }()),
                         [](const auto& of) { return std::string(of.param->name()); });

// A step ends with its last collective, whoever waits for it; one without collectives is its compute.
TEST(ProgramText, AStepIsOverOnceAllItsOpsAre) {
  TemporaryFolder folder;
  auto takes = [&](const std::string& text) {
    auto file = folder.write("own.program", text);
    TextJob job{kRepository + "/configs/strategies-2gpu.yaml",
                {"strategy={program: " + file + "}", "physics=none"}};
    return iteration(job.scenario());
  };
  const std::string passes = "forward: compute 10ms\nbackward: compute 20ms\n";
  const std::string reduced = "all_reduce: all_reduce 100MB on data after backward\n";
  EXPECT_NEAR(takes(passes).value(), 0.03, 1e-9);
  EXPECT_GT(takes(passes + reduced).value(), 0.031);
  EXPECT_EQ(takes(passes + reduced), takes(passes + reduced + "optimizer: compute 0s after all_reduce\n"));
}

TEST(ProgramText, Zero3ByHandIsFsdp) {
  TemporaryFolder folder;
  auto model = [&](const char* name, int gpus) {
    return folder.write("job.yaml",
                        fmt::format("workload: {{model: {}, micro_batch: 1, sequence: 1024, dtype: bf16}}\n"
                                    "cluster: {{topology: superpod-h100, world_size: {}}}\n",
                                    name, gpus));
  };
  auto by_hand = fmt::format("strategy={{program: {}/examples/programs/zero3.program}}", kRepository);
  for (const char* name : {"gpt2-large", "llama-2-7b"})
    for (int gpus : {8, 64})
      for (const char* physics : {"physics=none", "physics={}"}) {
        TextJob job{model(name, gpus), {physics}};
        EXPECT_EQ(iteration(job.scenario({by_hand})), iteration(job.scenario({"strategy=fsdp"})))
            << name << " " << gpus << " " << physics;
      }
}

}  // namespace
}  // namespace ddpsim::testing
