// GPUs that differ more never make a step shorter, and nothing that a step loses is negative.
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/point_runs.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

constexpr const char* kEstimate =
    "workload: {model: gpt2-medium, micro_batch: 2, sequence: 1024}\nstrategy: fsdp\n"
    "cluster: {topology: superpod-h100, world_size: 2}\n";
constexpr const char* kShared =
    "workload: {model: gpt2-medium, micro_batch: 2, sequence: 1024}\nstrategy: megatron\n"
    "parallelism: {pipeline: 2}\nbatch: {global: 256}\ncluster: {topology: superpod-h100, world_size: 2}\n";
constexpr const char* kTrace =
    "workload: {trace: trace.csv}\ncluster: {topology: superpod-h100, world_size: 2}\n";

class MoreSpread : public ::testing::TestWithParam<const char*> {
 protected:
  IterationMetrics of(int gpus, const std::string& spread) {
    folder_.write("trace.csv",
                  "# ddpsim-trace: 1\n# forward: 20ms\n# optimizer: 2ms\ngradient,elements,dtype,ready_s\n"
                  "a,40000000,float32,0.02\nb,40000000,float32,0.04\n");
    auto path = folder_.write("scenario.yaml", GetParam());
    auto root = config::load_yaml(path, "a scenario");
    config::apply_override(root, "cluster.world_size=" + std::to_string(gpus));
    config::apply_override(root, "spread." + spread);
    auto scenario = resolve(Files(path), root);
    IterationMetrics metrics;
    run_points(unchanged({&scenario, 1}), 1,
               [&](std::size_t, const Prediction&, IterationMetrics one) { metrics = std::move(one); });
    return metrics;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_P(MoreSpread, IsNeverAShorterStep) {
  for (int gpus : {2, 4, 8, 64})
    for (std::string of : {"ranks", "nodes"}) {
      Seconds before;
      for (const char* spread : {"0", "0.005", "0.02", "0.2", "1"}) {
        auto metrics = this->of(gpus, of + "=" + spread);
        EXPECT_GE(metrics.iteration, before) << gpus << " GPUs, spread." << of << " " << spread;
        before = metrics.iteration;
        for (const auto& loss : metrics.losses)
          EXPECT_GE(loss.seconds, Seconds())
              << gpus << " GPUs, spread." << of << " " << spread << ", " << loss.row().key;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, MoreSpread, ::testing::Values(kEstimate, kShared, kTrace), [](const auto& job) {
      return std::string(job.param == kEstimate ? "Estimate" : job.param == kShared ? "Pipeline" : "Trace");
    });

}  // namespace
}  // namespace ddpsim
