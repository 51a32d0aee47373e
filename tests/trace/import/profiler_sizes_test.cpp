// How large gradients are: by their shapes, by DDP's copies out of its buckets, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProfilerTrace;
using testing::shaped;

std::vector<std::int64_t> elements(const ImportedTrace& imported) {
  std::vector<std::int64_t> counts;
  for (const auto& gradient : imported.trace.gradients) counts.push_back(gradient.elements);
  return counts;
}

TEST(ProfilerShapes, GiveSizeAndType) {
  ProfilerTrace trace;
  trace.node(0, 5);
  trace.gradient(10, 11, 12, shaped("[64, 3, 7, 7]")).gradient(20, 21, 22, shaped("[5]", "c10::Half"));
  trace.gradient(30, 31, 32, shaped("[2, 2]", "c10::BFloat16")).gradient(40, 41, 42, shaped("[]", "double"));
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(9408, 5, 4, 1));
  const auto& gradients = imported.trace.gradients;
  EXPECT_EQ(gradients[0].dtype, DType::float32);
  EXPECT_EQ(gradients[1].dtype, DType::float16);
  EXPECT_EQ(gradients[2].dtype, DType::bfloat16);
  EXPECT_EQ(gradients[3].dtype, DType::float64);
  EXPECT_EQ(gradients[2].name, "gradient.2");
  EXPECT_FALSE(imported.communication.has_value());
}

TEST(ProfilerShapes, MustBeOfGradients) {
  auto error_of = [](const std::string& args) {
    ProfilerTrace trace;
    trace.node(0, 5).gradient(10, 11, 12, args);
    return trace.error();
  };
  EXPECT_EQ(error_of(shaped("[3]", "c10::complex<float>")),
            "trace.json: error: a gradient has elements of type 'c10::complex<float>'\n"
            "hint: gradients are float16, bfloat16, float32 or float64");
  for (const auto* dims : {"[0]", "[-3]", "[99999999999, 99999999999]", "[1e300]", "[1.5]"})
    EXPECT_EQ(error_of(shaped(dims)),
              "trace.json: error: a gradient has a shape of no elements, or of too many\n"
              "hint: is the trace damaged?")
        << dims;
  // An undefined gradient has neither type nor shape.
  EXPECT_THAT(error_of(shaped("[]", "")), HasSubstr("says nothing of its gradients' sizes"));
}

// Two buckets, {40 B, 20 B} and {12 B} of float32. The first one's gradients are ready at 20 and 30 us, and
// the second of them launches it at 32; the CPU copies back at 60.
void add_ddp_step(ProfilerTrace& trace, double at, std::vector<std::int64_t> copies = {40, 20, 12},
                  const std::string& dtype = "Float") {
  trace.forward_operator(at + 5).node(at + 10, at + 12).kernel(at + 11, at + 11.5, at + 13);
  trace.gradient(at + 19, at + 20, at + 22).gradient(at + 29, at + 30, at + 33);
  trace.all_reduce(at + 32, at + 35, at + 45, 15, dtype);
  trace.gradient(at + 39, at + 40, at + 43).all_reduce(at + 42, at + 46, at + 50, 3, dtype);
  for (std::size_t k = 0; k < copies.size(); ++k)
    trace.copy_to_gradient(at + 60 + 3 * static_cast<double>(k), copies[k]);
  trace.annotation("Optimizer.step#SGD.step", at + 80, at + 90);
}

TEST(ProfilerCopies, GiveSizesInTheOrderOfTheBuckets) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0);
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(10, 5, 3));
  EXPECT_EQ(imported.trace.gradients[2].ready, Seconds(30e-6));
  EXPECT_THAT(
      imported.trace.metadata.notes,
      Contains("Sizes are those of DDP's copies out of its buckets, which add up to its all-reduces."));
  EXPECT_THAT(imported.remarks, ::testing::Not(Contains(HasSubstr("order of DDP's buckets"))));
}

TEST(ProfilerCopies, AreReadInTheBucketsType) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0, {20, 10, 6}, "BFloat16");
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(10, 5, 3));
  EXPECT_EQ(imported.trace.gradients[0].dtype, DType::bfloat16);
}

TEST(ProfilerCopies, MustAddUpToTheAllReduces) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0, {40, 24, 8});
  EXPECT_EQ(
      trace.error(),
      "trace.json: error: step 1: the copies out of DDP's buckets contradict all-reduce 0, which has 15 "
      "elements of float32; 10 of them were copied\n"
      "hint: a communication hook that compresses, or a damaged trace? Profile with record_shapes=True");
}

// One all-reduce of the first two gradients; the third one's was lost.
TEST(ProfilerCopies, MustAllBeReduced) {
  ProfilerTrace trace;
  trace.forward_operator(5).node(10, 12).gradient(19, 20, 22).gradient(29, 30, 33).all_reduce(32, 35, 45, 15);
  trace.gradient(39, 40, 43).copy_to_gradient(60, 40).copy_to_gradient(63, 20).copy_to_gradient(66, 12);
  EXPECT_EQ(
      trace.error(),
      "trace.json: error: step 1: 3 gradients are copied out of DDP's buckets and no all-reduce holds the "
      "last 1 of them\n"
      "hint: is the trace cut off? Profile whole training steps, or with record_shapes=True");
}

TEST(ProfilerCopies, OfABrokenStepAreLeftOut) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0);
  add_ddp_step(trace, 100, {40, 24, 8});
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(10, 5, 3));
  EXPECT_THAT(imported.remarks,
              Contains(HasSubstr("a step was left out; step 2: the copies out of DDP's buckets "
                                 "contradict all-reduce 0")));
}

TEST(ProfilerCopies, OfAStepThatIsCutOffAreLeftOut) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0);
  add_ddp_step(trace, 100, {40, 20});
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(10, 5, 3));
  EXPECT_THAT(
      imported.remarks,
      Contains("a step was left out; step 2 does not have a copy out of DDP's buckets for each gradient"));
}

// The first bucket is launched by the third gradient: one of the second bucket arrived before its last one.
TEST(ProfilerCopies, OutOfOrderArrivalIsPointedOut) {
  ProfilerTrace trace;
  trace.forward_operator(5).node(10, 12).kernel(11, 11.5, 13);
  trace.gradient(19, 20, 22).gradient(24, 25, 26).gradient(29, 30, 39);
  trace.all_reduce(32, 35, 45, 15).all_reduce(34, 46, 50, 3);
  trace.copy_to_gradient(60, 40).copy_to_gradient(63, 20).copy_to_gradient(66, 12);
  EXPECT_THAT(trace.imported().remarks,
              Contains(HasSubstr("gradients did not arrive in the order of DDP's buckets")));
}

TEST(ProfilerCollectives, AreRecordedBesideTheGradients) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0);
  add_ddp_step(trace, 200);
  auto communication = trace.imported().communication;
  ASSERT_TRUE(communication.has_value());
  EXPECT_EQ(communication->world_size, 4);
  EXPECT_EQ(communication->steps, 2);
  ASSERT_EQ(communication->collectives.size(), 2u);
  // Time zero is 10; the gradients are ready at 20 and 30.
  EXPECT_EQ(communication->collectives[0],
            (RecordedCollective{15, DType::float32, Seconds(20e-6), Seconds(25e-6), Seconds(35e-6),
                                Seconds(10e-6)}));
  EXPECT_EQ(
      communication->collectives[1],
      (RecordedCollective{3, DType::float32, Seconds(30e-6), Seconds(36e-6), Seconds(40e-6), Seconds(4e-6)}));
}

// gradient_as_bucket_view=True: nothing is copied back.
TEST(ProfilerBuckets, AreGradientsWhereNothingElseIsKnown) {
  ProfilerTrace trace;
  add_ddp_step(trace, 0, {});
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(15, 3));
  EXPECT_EQ(imported.trace.gradients[0].name, "bucket.0");
  EXPECT_EQ(imported.trace.gradients[0].ready, Seconds(20e-6));
  EXPECT_EQ(imported.trace.gradients[1].ready, Seconds(30e-6));
  EXPECT_THAT(imported.trace.metadata.notes,
              Contains(HasSubstr("Each gradient here is a whole bucket of DDP")));
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("each of DDP's buckets became one gradient")));
}

// Without launches nothing tells when the CPU was there; the kernel's start, 35 - 10, is an upper bound.
TEST(ProfilerBuckets, WithoutLaunchesAreReadyWhenTheirKernelsStart) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(19, 20, 22);
  trace.event("kernel", "gemm", 12, 1, 7, R"("device": 0, "stream": 7, "correlation": 900)");
  trace.event(
      "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 35, 9, 40,
      R"("device": 0, "stream": 40, "correlation": 901, "In msg nelems": 15, "dtype": "Half", "Group size": 8)");
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(15));
  EXPECT_EQ(imported.trace.gradients[0].ready, Seconds(25e-6));
  EXPECT_EQ(imported.trace.gradients[0].dtype, DType::float16);
  EXPECT_EQ(imported.communication->world_size, 8);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("a bucket counts as ready when its kernel starts")));
}

// PyTorch before 2.2 wrote the facts on the CPU only: record_param_comms, or with record_shapes the operator.
TEST(ProfilerBuckets, TakeTheirSizeFromTheOperatorThatLaunchedThem) {
  for (const auto& [name, args] :
       {std::pair<std::string, std::string>{
            "record_param_comms",
            R"("Collective name": "allreduce", "In msg nelems": 15, "dtype": "Float", "Group size": 2)"},
        {"nccl:all_reduce", shaped("[15]")}}) {
    ProfilerTrace trace;
    trace.node(10, 12).gradient(19, 20, 40);
    trace.event("cpu_op", "c10d::allreduce_", 30, 5, 2).event("cpu_op", name, 31, 3, 2, args);
    trace.launched("cudaLaunchKernel", 32, 2)
        .gpu("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float()", 35, 45, 40, "");
    auto imported = trace.imported();
    EXPECT_THAT(elements(imported), ElementsAre(15)) << name;
    EXPECT_EQ(imported.communication->world_size, name == "record_param_comms" ? 2 : 4);
  }
}

// SyncBatchNorm all-reduces in a node of its own, find_unused_parameters a bitmap of integers.
TEST(ProfilerBuckets, AreOnlyWhatGradientsLaunch) {
  ProfilerTrace trace;
  trace.node(10, 18, "SyncBatchNormBackward0").all_reduce(15, 16, 17, 128);
  trace.gradient(19, 20, 22).all_reduce(21, 23, 24, 15).all_reduce(21.5, 25, 26, 200, "Int");
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(15));
  EXPECT_THAT(imported.remarks,
              Contains("2 collectives of a backward pass that reduce no bucket of DDP were left out"));
}

TEST(ProfilerBuckets, CollectivesOfForwardAreNone) {
  ProfilerTrace trace;
  trace.collective("Broadcast_RING_LL_Sum_int8_t", "broadcast", 1, 2, 3, 53120).all_reduce(4, 5, 6, 99);
  trace.node(10, 12).gradient(19, 20, 22).all_reduce(21, 23, 24, 15);
  EXPECT_THAT(elements(trace.imported()), ElementsAre(15));
}

TEST(ProfilerCollectives, OfShardedTrainingAreRefused) {
  for (const auto* name : {"reduce_scatter", "_reduce_scatter_base"}) {
    ProfilerTrace trace;
    trace.node(10, 12).gradient(19, 20, 25, shaped("[3]"));
    trace.collective("ReduceScatter_RING_LL_Sum_float", name, 21, 22, 23, 99);
    EXPECT_EQ(
        trace.error(),
        "trace.json: error: step 1 launches a reduce-scatter in its backward pass: this is not "
        "DistributedDataParallel\n"
        "hint: traces of FSDP and ZeRO, which shard gradients, are not read yet; profile a DDP run, or one "
        "GPU alone with record_shapes=True");
  }
}

// With shapes the gradients do not need the all-reduces; those of unknown size are left out.
TEST(ProfilerCollectives, OfUnknownTypeAreLeftOut) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(19, 20, 25, shaped("[3]")).all_reduce(21, 22, 23, 3, "Float8_e4m3fn");
  auto imported = trace.imported();
  EXPECT_THAT(elements(imported), ElementsAre(3));
  EXPECT_FALSE(imported.communication.has_value());
  EXPECT_THAT(imported.remarks,
              Contains("the recorded all-reduces were left out: an all-reduce has elements of type "
                       "'Float8_e4m3fn'"));
}

TEST(ProfilerCollectives, ThatRunBeforeBackwardAreLeftOut) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(19, 20, 40, shaped("[3]")).all_reduce(21, 8, 9, 3);
  EXPECT_FALSE(trace.imported().communication.has_value());
}

TEST(ProfilerCollectives, ThatRunOutOfOrderAreLeftOut) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(19, 20, 40, shaped("[3]")).all_reduce(21, 32, 33, 3).all_reduce(22, 24, 25, 3);
  auto imported = trace.imported();
  EXPECT_FALSE(imported.communication.has_value());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("their kernels do not run one after the other")));
}

}  // namespace
}  // namespace ddpsim
