// Where torch.compile's DDPOptimizer cuts a graph: by hand, and as PyTorch 2.15 itself did it.
#include "sim/ddp/compiled_graph.hpp"

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim::testing {
namespace {

using Ends = std::vector<std::size_t>;
constexpr Bytes kMiB(0x1p20);

LayerTrace named(std::vector<std::pair<std::string, double>> gradients) {
  LayerTrace trace;
  double ready = 0;
  for (auto& [name, mib] : gradients) {
    Gradient gradient;
    gradient.name = std::move(name);
    gradient.elements = static_cast<std::int64_t>(mib * 0x1p20 / 4);
    gradient.ready = Seconds(ready += 1);
    trace.gradients.push_back(std::move(gradient));
  }
  trace.registration_order = reverse_of_arrival(trace.gradients.size());
  return trace;
}

Ends ends_of(const LayerTrace& trace, Bytes cap, Bytes tied_head = {}) {
  return subgraphs(compiled_graph(trace, {}, tied_head), cap).ends;
}

// 2, 3, 1, 4 and 1 MiB under a cap of 4 MiB: the first subgraph is full with 2 >= 1 MiB, the next with
// 3 + 1 >= 4, then 4.
TEST(CompiledGraph, TheFirstSubgraphHoldsOneMebibyte) {
  auto trace = named({{"e", 2}, {"d", 3}, {"c", 1}, {"b", 4}, {"a", 1}});
  EXPECT_EQ(ends_of(trace, 4 * kMiB), (Ends{0, 2, 2, 3, 4}));
  EXPECT_EQ(ends_of(trace, 100 * kMiB), (Ends{0, 4, 4, 4, 4}));
}

// A module is one node of the graph: its bias and its weight stay together. Numbers name no module.
TEST(CompiledGraph, ModulesAreWhole) {
  EXPECT_EQ(ends_of(named({{"f.bias", 2}, {"f.weight", 2}, {"e.weight", 1}}), kMiB), (Ends{1, 1, 2}));
  EXPECT_EQ(ends_of(named({{"gradient.0", 2}, {"gradient.1", 2}}), kMiB), (Ends{0, 1}));
}

// A head tied to the embedding fills the first subgraph, of which no gradient is ready at its end.
TEST(CompiledGraph, ATiedHeadCountsTwice) {
  auto trace = named({{"norm", 2}, {"block", 2}, {"embedding", 3}});
  EXPECT_EQ(ends_of(trace, 4 * kMiB, 3 * kMiB), (Ends{1, 1, 2}));
}

// torch.compile(model, backend=DDPOptimizer(2 MiB, aot_eager).compile_fn) with PyTorch 2.15.0 on a GPT-2 of 4
// blocks, width 192, 1000 tokens and 64 positions: the sizes of its buckets. The same with a head of its own.
TEST(CompiledGraph, AsPyTorchCutsGpt2) {
  Transformer model;
  model.hidden = 192, model.layers = 4, model.heads = model.kv_heads = 4, model.head_dim = 48;
  model.ffn = 768, model.vocab = 1000, model.positions = 64;
  for (bool tied : {true, false}) {
    model.tied = tied;
    LayerTrace trace;
    for (auto& tensor : arrival_order(transformer_parts(model, 64)))
      trace.gradients.push_back({tensor.name, tensor.elements, DType::float32, Seconds(1), {}});
    Bytes head(4 * 1000 * 192);
    auto ends = ends_of(trace, 2 * kMiB, tied ? head : Bytes());
    std::vector<double> sizes;
    for (std::size_t g = 0; g < ends.size(); ++g) {
      if (g == 0 || ends[g] != ends[g - 1]) sizes.push_back(0);
      sizes.back() += trace.gradients[g].bytes().value();
    }
    if (tied) sizes.front() += head.value();
    EXPECT_EQ(sizes, (std::vector<double>{1360128, 2372352, 2373888, 2598144})) << tied;
  }
}

// 1, 2, 2 and 2 MiB in buckets of 3 and 4 MiB; subgraphs of 1, 4 and 2: the first bucket waits for the third
// gradient. A cap of 1 MiB gives each its own subgraph.
TEST(CompiledGraph, TheCapMovesReadyTimes) {
  auto trace = named({{"d", 1}, {"c", 2}, {"b", 2}, {"a", 2}});
  DdpOptions options;
  options.bucket_cap = 4 * kMiB;
  options.first_bucket_cap = 2 * kMiB;
  auto ready_times = [&](const ReductionPlan& plan) { return bucket_ready_times(trace, plan); };
  EXPECT_EQ(ready_times(make_reduction_plan(trace, Reducer::ddp, options)),
            (std::vector{Seconds(2), Seconds(4)}));
  options.compiled = true;
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(ready_times(plan), (std::vector{Seconds(3), Seconds(4)}));
  EXPECT_EQ(ready_times(with_bucket_cap(plan, options, kMiB)),
            (std::vector{Seconds(2), Seconds(3), Seconds(4)}));
}

// The same buckets, but not the same subgraphs: another point of a sweep.
TEST(CompiledGraph, BucketsAloneAreNotTheSamePoint) {
  auto trace = named({{"d", 8}, {"c", 2}, {"b", 2}});
  DdpOptions options;
  options.compiled = true;
  options.bucket_cap = kMiB;
  options.first_bucket_cap = 100 * kMiB;
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  KnownBuckets known;
  EXPECT_EQ(known.first_with(0, plan, options, kMiB), 0);
  EXPECT_EQ(known.first_with(1, plan, options, 3 * kMiB), 1);
  EXPECT_EQ(known.first_with(2, plan, options, 4 * kMiB), 1);
  options.compiled = false;
  plan = make_reduction_plan(trace, Reducer::ddp, options);
  KnownBuckets eager;
  EXPECT_EQ(eager.first_with(0, plan, options, kMiB), 0);
  EXPECT_EQ(eager.first_with(1, plan, options, 3 * kMiB), 0);
}

// By trying: sizes are whole MiB, so nothing changes but one byte above a whole MiB.
TEST(CompiledGraph, DistinctCapsAreThoseOfBucketsAndSubgraphs) {
  for (double first : {0.0, 3.0}) {
    auto trace = named({{"g", 1}, {"f", 3}, {"e", 2}, {"d", 5}, {"c", 1}, {"b", 4}, {"a", 2}});
    DdpOptions options;
    options.compiled = true;
    if (first > 0) options.first_bucket_cap = first * kMiB;
    options.bucket_cap = kMiB;
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    std::vector<Bytes> expected{kMiB};
    auto current = plan;
    for (double mib = 1; mib <= 20; ++mib)
      for (auto cap : {mib * kMiB, mib * kMiB + Bytes(1)}) {
        auto next = with_bucket_cap(plan, options, cap);
        if (next.buckets == current.buckets && next.subgraph_end == current.subgraph_end) continue;
        expected.push_back(cap);
        current = next;
      }
    EXPECT_EQ(distinct_bucket_caps(trace, options), expected) << first;
    EXPECT_GT(expected.size(), 5U);
  }
}

TEST(CompiledGraph, WhatPyTorchRefuses) {
  auto trace = named({{"b", 2}, {"a", 2}});
  DdpOptions options;
  options.compiled = true;
  options.bucket_cap = kMiB - Bytes(1);
  EXPECT_THROW(make_reduction_plan(trace, Reducer::ddp, options), InputError);
  options.bucket_cap = kMiB;
  options.torch = {1, 13};
  EXPECT_THROW(make_reduction_plan(trace, Reducer::ddp, options), InputError);
  options.torch = {2, 11};
  options.bucket_cap.reset();
  options.bucket_caps = {Bytes(1), 3 * kMiB};  // the largest counts
  EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, options).subgraph_end, (Ends{0, 1}));
}

}  // namespace
}  // namespace ddpsim::testing
