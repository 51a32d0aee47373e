// The key `workload.rescale`.
#include <gtest/gtest.h>

#include "sim/resolve/sections.hpp"

#include "tests/compute/gpus.hpp"
#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

KnownGpu known(const std::string& file) {
  return {file, std::make_shared<const GpuDescription>(file == "small.yaml" ? small_gpu() : fast_gpu())};
}

Rescale read(const std::string& text, const KnownGpu& cluster_gpu = {}) {
  // `text` is the first line below `workload`.
  auto given = read_job(parse("workload:\n " + text + " trace: a.csv\ncluster: {world_size: 2}\n"));
  return read_rescale(given, cluster_gpu, [](const Located& path) { return known(path.text); });
}

std::string error_of(const std::string& text, const KnownGpu& cluster_gpu = {}) {
  return brief_error([&] { read(text, cluster_gpu); });
}

LayerTrace recorded() {
  LayerTrace trace;
  trace.forward = Seconds(0.1);
  trace.gradients = {{"a", 8, DType::float32, Seconds(0.2), {}}};
  return trace;
}

TEST(RescaleSection, FromOneGpuToAnother) {
  auto rescale = read("rescale: {from: small.yaml, to: fast.yaml}\n");
  EXPECT_EQ(*rescale.from, small_gpu());
  EXPECT_EQ(*rescale.to, fast_gpu());
  EXPECT_EQ(rescale.dtype, DType::float32);
  EXPECT_EQ(rescaled(recorded(), rescale).gradients[0].ready, Seconds(0.1));  // twice the peak
}

TEST(RescaleSection, ToTheClustersGpu) {
  EXPECT_EQ(*read("rescale: {from: small.yaml}\n", known("fast.yaml")).to, fast_gpu());
  EXPECT_EQ(*read("rescale: {from: small.yaml, to: fast.yaml}\n", known("fast.yaml")).to, fast_gpu());
}

TEST(RescaleSection, ToItselfATraceStaysAsItWasRecorded) {
  EXPECT_EQ(rescaled(recorded(), read("rescale: {from: small.yaml, to: small.yaml}\n")), recorded());
}

TEST(RescaleSection, ByAStatedFactor) {
  auto trace = rescaled(recorded(), read("rescale: {factor: 0.5}\n"));
  EXPECT_EQ(trace.forward, Seconds(0.05));
  EXPECT_EQ(trace.metadata.synthetic, "rescaled by a stated factor of 0.5");
}

TEST(RescaleSection, Errors) {
  EXPECT_EQ(error_of("rescale: {from: small.yaml}\n"),
            "a.yaml:2:11: nothing says which GPU the trace is rescaled to; add 'to: FILE' (gpus/ has some), "
            "or cluster.gpu");
  EXPECT_EQ(error_of("rescale: {from: small.yaml, to: fast.yaml}\n", known("small.yaml")),
            "a.yaml:2:34-42: the trace is rescaled to Fast, and the cluster's GPU is Small; remove 'to': "
            "without it the cluster's GPU is meant");
  EXPECT_EQ(error_of("rescale: {from: small.yaml, to: fast.yaml, dtype: bfloat16}\n"),
            "a.yaml:2:11: Small has no peak for bfloat16; its file has one for float32");
  EXPECT_EQ(error_of("rescale: {factor: 0.5, from: small.yaml}\n"),
            "a.yaml:2:31-40: rescale.factor and rescale.from exclude each other; a stated factor takes the "
            "place of what GPU files give");
  EXPECT_EQ(error_of("rescale: {factor: 0}\n"),
            "a.yaml:2:20: times of zero are no estimate; write a number above 0: 0.5 is half");
}

}  // namespace
}  // namespace ddpsim::testing
