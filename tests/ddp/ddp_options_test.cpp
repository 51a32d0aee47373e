// Options that are refused, with the whole message.
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/reduction_plan.hpp"

#include "tests/ddp/small_trace.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using namespace literals;

// The message with which DDP's plan is refused once `set` has changed the default options.
std::string refusal(const std::function<void(DdpOptions&)>& set) {
  auto trace = test::small_trace({{"h.0.bias", 10}, {"h.0.weight", 10}});
  DdpOptions options;
  set(options);
  try {
    make_reduction_plan(trace, Reducer::ddp, options);
  } catch (const InputError& error) {
    return testing::brief(error.what());
  }
  return "accepted";
}

TEST(DdpOptionsRefused, Refused) {
  EXPECT_EQ(refusal([](DdpOptions& o) { o.bucket_cap = 0_B; }),
            "bucket_cap must be at least one byte; a cap of 1B gives every gradient a bucket of its own");
  EXPECT_EQ(refusal([](DdpOptions& o) { o.bucket_cap = Bytes(std::numeric_limits<double>::quiet_NaN()); }),
            "bucket_cap must be at least one byte; a cap of 1B gives every gradient a bucket of its own");
  EXPECT_EQ(
      refusal([](DdpOptions& o) { o.first_bucket_cap = 0_B; }),
      "first_bucket_cap must be at least one byte; a cap of 1B gives every gradient a bucket of its own");
  EXPECT_EQ(
      refusal([](DdpOptions& o) {
        o.torch = {2, 11};
        o.bucket_caps = {1_MiB, 0_B};
      }),
      "each of bucket_caps must be at least one byte; a cap of 1B gives every gradient a bucket of its own");
  EXPECT_EQ(
      refusal([](DdpOptions& o) {
        o.torch = {2, 11};
        o.bucket_caps = {1_MiB};
        o.bucket_cap = 1_MiB;
      }),
      "bucket_caps and bucket_cap exclude each other; the last of bucket_caps holds for all later buckets");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {2, 11};
              o.bucket_caps = {1_MiB};
              o.first_bucket_cap = 1_MiB;
            }),
            "bucket_caps and first_bucket_cap exclude each other; the first of bucket_caps is the first "
            "bucket's cap");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {2, 10};
              o.bucket_caps = {1_MiB};
            }),
            "torch 2.10 has no bucket_caps (bucket_cap_mb_list); it appeared in torch 2.11");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {1, 8};
              o.static_graph = true;
            }),
            "torch 1.8 has no static_graph; it appeared in torch 1.9");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {1, 9};
              o.set_last_bucket_cap = true;
            }),
            "torch 1.9 has no set_last_bucket_cap (DDP_SET_LAST_BUCKET_CAP); it appeared in torch 1.10");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {1, 6};
            }),
            "no bucketing rules are known for torch 1.6; versions 1.7 to 1.13 and 2.x are known");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {1, 14};
            }),
            "no bucketing rules are known for torch 1.14; versions 1.7 to 1.13 and 2.x are known");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {26, 0};
            }),
            "no bucketing rules are known for torch 26.0; versions 1.7 to 1.13 and 2.x are known");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.torch = {2, -1};
            }),
            "no bucketing rules are known for torch 2.-1; versions 1.7 to 1.13 and 2.x are known");
  EXPECT_EQ(refusal([](DdpOptions& o) { o.accumulation_steps = 0; }),
            "accumulation_steps must be at least 1, not 0; 1 reduces after every backward pass");
  EXPECT_EQ(
      refusal([](DdpOptions& o) { o.unused_parameters = {"h.0.weight"}; }),
      "the gradient of unused parameter 'h.0.weight' never arrives, so its bucket is never reduced; set "
      "find_unused_parameters, or static_graph if the same parameters are unused in every iteration");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.find_unused_parameters = true;
              o.unused_parameters = {"h.0.wieght"};
            }),
            "unused parameter 'h.0.wieght' is not in the trace; did you mean 'h.0.weight'?; the trace names "
            "its gradients like 'h.0.bias'");
  EXPECT_EQ(refusal([](DdpOptions& o) {
              o.find_unused_parameters = true;
              o.unused_parameters = {"h.0.weight", "h.0.bias"};
            }),
            "every parameter is unused: nothing is left to reduce; leave some out of unused_parameters");
}

TEST(DdpOptionsAccepted, OldestAndFutureVersions) {
  auto trace = test::small_trace({{"a", 10}});
  DdpOptions options;
  for (auto version : {TorchVersion{1, 7}, TorchVersion{1, 13}, TorchVersion{2, 0}, TorchVersion{2, 99}}) {
    options.torch = version;
    EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, options).buckets.size(), 1u);
  }
}

// The hand-written loops never wait for a gradient that does not come.
TEST(DdpOptionsAccepted, UnusedParametersInHandWrittenStrategies) {
  auto trace = test::small_trace({{"a", 10}, {"b", 10}});
  DdpOptions options;
  options.unused_parameters = {"a"};
  for (auto strategy : {Reducer::naive, Reducer::flat, Reducer::overlap})
    EXPECT_EQ(make_reduction_plan(trace, strategy, options).buckets.size(), 1u);
}

TEST(TorchVersionText, MajorAndMinorWhateverFollows) {
  EXPECT_EQ(parse_torch_version("2.6"), (TorchVersion{2, 6}));
  EXPECT_EQ(parse_torch_version("1.13.1+cu117"), (TorchVersion{1, 13}));
  for (const char* text : {"", "2", "2.", ".6", "2,6", "2.6rc1", "-2.6", "2.-6", "2.99999999999", "latest"})
    EXPECT_EQ(parse_torch_version(text), std::nullopt) << text;
}

}  // namespace
}  // namespace ddpsim
