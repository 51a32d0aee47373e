// The buckets of GPT-2 124M in fp32, derived by hand. In MiB (262144 elements each):
//   wte 50257 * 768 -> 147.24; wpe 1024 * 768 -> 3.00; ln_f 0.006;
//   a block of 12 tensors, 7087872 elements, 28351488 bytes -> 27.04; in it mlp.c_proj 3072 * 768 -> 9.00.
// Gradients arrive from ln_f and block 11 down to block 0, wpe, wte.
#include <chrono>

#include <gtest/gtest.h>

#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/ddp/reduction_plan.hpp"

#include "tests/ddp/gpt2_trace.hpp"

namespace ddpsim {
namespace {

using namespace literals;
using test::gpt2_trace;

constexpr double kBlock = 28351488;
constexpr double kEmbeddings = 4.0 * 768 * (50257 + 1024);    // 150.24 MiB, ready last
constexpr double kHead = 4.0 * (2 * 768 + 768 + 3072 * 768);  // ln_f and the top block's mlp.c_proj: 9.01 MiB

std::vector<double> bucket_bytes(const ReductionPlan& plan) {
  std::vector<double> bytes;
  for (const auto& bucket : plan.buckets) bytes.push_back(bucket.bytes.value());
  return bytes;
}

ReductionPlan plan_with_cap(std::optional<Bytes> cap, TorchVersion torch = {2, 6}) {
  DdpOptions options;
  options.bucket_cap = cap;
  options.torch = torch;
  return make_reduction_plan(gpt2_trace(gpt2_presets()[0]), Reducer::ddp, options);
}

TEST(Gpt2Golden, HasTheParametersOfTheModel) {
  auto trace = gpt2_trace(gpt2_presets()[0]);
  EXPECT_EQ(trace.gradients.size(), 148u);           // 2 + 12 * 12 + 2
  EXPECT_EQ(trace.bytes(), Bytes(124439808.0 * 4));  // the model's 124 million parameters: 474.70 MiB
  EXPECT_EQ(trace.gradients.front().name, "transformer.ln_f.weight");
  EXPECT_EQ(trace.gradients.back().name, "transformer.wte.weight");
}

// 1 MiB first: ln_f (6 KiB) and the bias (3 KiB) stay below it, the 9 MiB of mlp.c_proj overshoot it. From
// then on 25 MiB is first reached one block later, again at an mlp.c_proj. What is left after 11 of them is
// the bottom block without its mlp.c_proj and the embeddings: 168.27 MiB.
TEST(Gpt2Golden, DefaultCap) {
  auto plan = plan_with_cap({});
  std::vector<double> expected(12, kBlock);
  expected.front() = kHead;
  expected.push_back(kBlock - 4.0 * (768 + 3072 * 768) + kEmbeddings);
  EXPECT_EQ(bucket_bytes(plan), expected);
  EXPECT_EQ(plan.buckets.size(), 13u);
  EXPECT_NEAR(plan.buckets.back().bytes.value() / 1048576, 168.27, 0.01);
  EXPECT_EQ(plan.bucket_cap, 25_MiB);
}

// From its end a block is mlp.c_proj 9.00, mlp.c_fc 9.01, ln_2, attn.c_proj 2.25, c_attn 6.76, ln_1 0.006: 25
// MiB is reached with c_attn.weight, at 27.03. So ln_f starts the first bucket and each block's ln_1 the next
// one: the same bytes.
TEST(Gpt2Golden, CapOf25MiB) {
  auto plan = plan_with_cap(25_MiB);
  ASSERT_EQ(plan.buckets.size(), 13u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(plan.buckets[i].bytes.value(), kBlock) << "bucket " << i;
  EXPECT_EQ(plan.buckets.front().gradients.size(), 12u);  // ln_f's 2 and 10 of the block's 12
  // The bottom block's ln_1 (6 KiB) and both embeddings.
  EXPECT_EQ(plan.buckets.back().bytes.value(), 4.0 * 2 * 768 + kEmbeddings);
}

// Derivation for 200 MiB: 7 blocks are 189.27 MiB; 9.00 (mlp.c_proj) and 9.00 (mlp.c_fc) of the eighth reach
// 207.28 MiB; 474.70 - 207.28 = 267.41 are left. The tail is the embeddings' and does not shrink with the
// cap.
TEST(Gpt2Golden, LargerCaps) {
  struct {
    Bytes cap;
    std::size_t buckets;
    double last_mib;
  } expected[] = {{50_MiB, 7, 150.25}, {100_MiB, 4, 159.26}, {200_MiB, 2, 267.41}, {500_MiB, 1, 474.70}};
  for (const auto& [cap, buckets, last_mib] : expected) {
    auto plan = plan_with_cap(cap);
    EXPECT_EQ(plan.buckets.size(), buckets) << cap.value();
    EXPECT_NEAR(plan.buckets.back().bytes.value() / 1048576, last_mib, 0.01) << cap.value();
  }
}

// Up to 2.3 a cap that is given leaves the first bucket at 1 MiB.
TEST(Gpt2Golden, FirstBucketBeforeTorch24) {
  EXPECT_EQ(bucket_bytes(plan_with_cap(25_MiB, {2, 3})), bucket_bytes(plan_with_cap({}, {2, 6})));
  EXPECT_EQ(plan_with_cap(500_MiB, {2, 3}).buckets.front().bytes, Bytes(kHead));
}

// The smallest caps that matter: with 1 byte every tensor is alone. The smallest are the 768-element vectors,
// 3072 bytes: one byte more joins each of them to its neighbour.
TEST(Gpt2Golden, DistinctCapsOfAllSizes) {
  for (const auto& model : gpt2_presets()) {
    auto trace = gpt2_trace(model);
    auto start = std::chrono::steady_clock::now();
    auto caps = distinct_bucket_caps(trace, {});
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 1.0) << model.name;
    EXPECT_EQ(caps[0], 1_B);
    EXPECT_EQ(caps[1], Bytes(4.0 * static_cast<double>(model.hidden) + 1));
    // From the last cap on nothing before wte, which comes last, fills a bucket.
    DdpOptions options;
    options.bucket_cap = caps.back();
    EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, options).buckets.size(), 1u);
  }
}

}  // namespace
}  // namespace ddpsim
