// A real trace: ResNet-50 under DDP on two A100 (data/SOURCE.md), which lists no shapes.
#include <numeric>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/import/importer.hpp"
#include "sim/trace/import/pytorch_profiler/profile.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

const std::string kPath = DDPSIM_SOURCE_DIR "/tests/trace/import/data/resnet50-ddp-2xa100.json.gz";

class RecordedProfile : public ::testing::Test {
 protected:
  static ImportedTrace import(std::optional<std::string> statistic = std::nullopt) {
    ImportRequest request;
    request.inputs = {kPath};
    request.statistic = std::move(statistic);
    return import_trace(find_importer("pytorch-profiler"), request);
  }
  ImportedTrace imported = import();
  const LayerTrace& trace = imported.trace;
};

// torchvision's ResNet-50 has 161 parameters of 25,557,032 elements; the last layer's bias and weight come
// first.
TEST_F(RecordedProfile, HasTheGradientsOfResNet50) {
  ASSERT_EQ(trace.gradients.size(), 161u);
  EXPECT_EQ(trace.bytes(), Bytes(4.0 * 25557032));
  EXPECT_EQ(trace.gradients[0].elements, 1000);
  EXPECT_EQ(trace.gradients[1].elements, 1000 * 2048);
  EXPECT_EQ(trace.gradients.back().elements, 64 * 3 * 7 * 7);
  EXPECT_EQ(trace.metadata.device, "NVIDIA A100-PG509-200");
  EXPECT_EQ(trace.metadata.model, std::nullopt);
}

TEST_F(RecordedProfile, HasTheAllReducesOfItsBuckets) {
  ASSERT_TRUE(imported.communication.has_value());
  EXPECT_EQ(imported.communication->world_size, 2);
  EXPECT_EQ(imported.communication->steps, 3);
  std::vector<std::int64_t> elements;
  for (const auto& collective : imported.communication->collectives) {
    elements.push_back(collective.elements);
    EXPECT_EQ(collective.dtype, DType::float32);
    EXPECT_GE(collective.start, collective.ready);
    // An event after the hook, the copy into the bucket and the launch: a fraction of a millisecond.
    EXPECT_LT(collective.start - collective.ready, Seconds(0.5e-3));
    EXPECT_GT(collective.duration, Seconds(1.5e-3));
    EXPECT_LT(collective.duration, Seconds(6e-3));
  }
  EXPECT_THAT(elements, ElementsAre(2049000, 7875584, 6563840, 6637568, 2431040));
}

// Layers end in the reverse of their gradients' arrival: the last layer's weight and bias together, 1.75 ms
// before the forward pass (the loss), the first convolution last.
TEST_F(RecordedProfile, HasTheForwardTimesOfItsLayers) {
  ASSERT_TRUE(trace.has_forward_ends());
  EXPECT_EQ(trace.gradients[0].forward_end, trace.gradients[1].forward_end);
  EXPECT_NEAR((*trace.forward - *trace.gradients[0].forward_end).value(), 1.753562e-3, 1e-9);
  int layers = 1;
  for (std::size_t i = 1; i < trace.gradients.size(); ++i) {
    EXPECT_LE(trace.gradients[i].forward_end, trace.gradients[i - 1].forward_end) << i;
    layers += trace.gradients[i].forward_end < trace.gradients[i - 1].forward_end ? 1 : 0;
  }
  EXPECT_EQ(layers, 107);  // 53 convolutions, their norms and the linear layer
}

// The message times of the kernels in the file: 3306.963, 2520.607 and 5993.392 us for the first bucket.
TEST_F(RecordedProfile, TakesTheMedianOfThreeSteps) {
  EXPECT_EQ(imported.communication->collectives[0].duration, Seconds(3306.963e-6));
  auto mean = import("mean").trace;
  EXPECT_NE(mean.backward(), trace.backward());
  EXPECT_NEAR(mean.backward() / trace.backward(), 1, 0.05);
  EXPECT_TRUE(trace.gradients[0].ready_spread.has_value());
}

// The annotations of the steps: forward takes 103.4, 102.7 and 102.4 ms until the call returns, the optimizer
// 14.73, 14.68 and 14.86 ms; backward begins some ms later and its last bucket is launched 82 to 88 ms on.
TEST_F(RecordedProfile, TakesTheTimesOfItsAnnotations) {
  EXPECT_NEAR(trace.forward.value().value(), 104.3e-3, 1e-3);
  EXPECT_EQ(trace.optimizer, Seconds(14.731383e-3));
  EXPECT_NEAR(trace.backward().value(), 84.2e-3, 0.1e-3);
  EXPECT_THAT(
      trace.metadata.notes,
      ElementsAre(
          "imported from resnet50-ddp-2xa100.json.gz, a trace of the PyTorch profiler.",
          "3 recorded steps, ProfilerStep#4 to ProfilerStep#6; times are their medians, ready_std_s is the "
          "deviation over them.",
          "Sizes are those of DDP's copies out of its buckets, which add up to its all-reduces.",
          "A gradient is ready when its AccumulateGrad is over and the GPU work launched before is done.",
          "Names and the order of registration were not recorded.",
          "forward_s is the end of the forward operator whose node made the gradient.",
          "Recorded on one rank, NCCL 2.17.1, 2 ranks.",
          "A compute kernel ran for 30 % of the backward pass."));
  // Of step 5, before forward 0.715 ms, between its last all-reduce and the optimizer 204.978 - 189.872
  // = 15.107 ms (the CPU copies 161 gradients out of their buckets) and 0.065 ms at the end; 16.8 and 15.7 of
  // the others.
  EXPECT_THAT(
      imported.remarks,
      ElementsAre(
          "the GPU computed for only 30 % of the backward pass: its times are those of the Python and CPU "
          "side rather than of the GPU",
          "15.89 ms of a step's 222.4 ms are neither forward, backward, its all-reduces nor the optimizer "
          "(DDP's copies out of its buckets, clipping gradients, logging, loading data?) "
          "and belong to nothing here"));
}

// 3 steps of 161 gradients; 15 all-reduces and 6 broadcasts of buffers.
TEST(RecordedProfileEvents, AreAllKept) {
  auto profile = pytorch_profiler::read_profile(kPath, {});
  EXPECT_EQ(profile.steps.size(), 3u);
  EXPECT_EQ(profile.forwards.size(), 3u);
  EXPECT_EQ(profile.optimizer_steps.size(), 3u);
  EXPECT_EQ(profile.accumulations.size(), 3u * 161);
  EXPECT_EQ(profile.bucket_copies.size(), 3u * 161);
  EXPECT_EQ(profile.collective_kernels.size(), 21u);
  EXPECT_EQ(profile.gpu_work.size(), 2700u - 21 + 960 + 114);
  EXPECT_EQ(profile.nccl_version, "2.17.1");
}

// GPT-2 under DDP, PyTorch 2.11, two ranks on one H200 (data/SOURCE.md): the elements that NCCL's kernels
// name, which are those of DDP's default buckets, on either rank.
TEST(RecordedProfileOfGpt2, HasTheAllReducesThatNcclNames) {
  for (const char* rank : {"0", "1"}) {
    ImportRequest request;
    request.inputs = {
        fmt::format(DDPSIM_SOURCE_DIR "/tests/trace/import/data/two_ranks_h200/ddp-rank{}.json.gz", rank)};
    auto imported = import_trace(find_importer("pytorch-profiler"), request);
    EXPECT_EQ(imported.trace.gradients.size(), 148u);
    EXPECT_EQ(imported.trace.bytes(), Bytes(4.0 * 125226240));
    EXPECT_EQ(imported.trace.metadata.device, "NVIDIA H200");
    ASSERT_TRUE(imported.communication.has_value());
    EXPECT_EQ(imported.communication->world_size, 2);
    EXPECT_EQ(imported.communication->steps, 2);
    std::vector<std::int64_t> elements;
    for (const auto& collective : imported.communication->collectives)
      elements.push_back(collective.elements);
    std::vector<std::int64_t> named(13, 7087872);
    named.front() = 2360832;
    named.back() = 44898816;
    EXPECT_EQ(elements, named);
  }
}

}  // namespace
}  // namespace ddpsim
