// Our buckets against those of PyTorch itself: c10d::compute_bucket_assignment_by_size of the installed
// LibTorch.
#include <algorithm>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "sim/ddp/ddp_rules.hpp"

#include "tests/ddp/gpt2_trace.hpp"
#include "tests/ddp/random_case.hpp"

namespace ddpsim {
namespace {

using namespace literals;
using test::gpt2_trace;
using test::RandomCase;

using Buckets = std::vector<std::vector<std::size_t>>;

at::ScalarType torch_dtype(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return at::kHalf;
    case DType::bfloat16:
      return at::kBFloat16;
    case DType::float32:
      return at::kFloat;
    case DType::float64:
      return at::kDouble;
  }
  return at::kFloat;
}

// The gradients at `order`, as tensors without memory (device "meta").
std::vector<at::Tensor> torch_tensors(const LayerTrace& trace, const std::vector<std::size_t>& order) {
  std::vector<at::Tensor> tensors;
  for (auto i : order)
    tensors.push_back(at::empty({trace.gradients[i].elements}, at::TensorOptions().device(at::kMeta).dtype(
                                                                   torch_dtype(trace.gradients[i].dtype))));
  return tensors;
}

// Without `indices` the buckets hold places in `order`; with them, gradients.
Buckets torch_buckets(const LayerTrace& trace, const std::vector<std::size_t>& order,
                      const std::vector<Bytes>& limits, BucketOrder bucket_order) {
  std::vector<std::size_t> torch_limits;
  for (auto limit : limits) torch_limits.push_back(static_cast<std::size_t>(limit.value()));
  std::vector<std::int64_t> indices;
  if (bucket_order == BucketOrder::as_closed) indices.assign(order.begin(), order.end());
  return std::get<0>(
      c10d::compute_bucket_assignment_by_size(torch_tensors(trace, order), torch_limits, {}, indices));
}

// The same of ours.
std::vector<NumberedTensor> our_tensors(const LayerTrace& trace, const std::vector<std::size_t>& order,
                                        BucketOrder bucket_order) {
  auto tensors = tensors_of(trace, order);
  if (bucket_order == BucketOrder::by_first_tensor)
    for (std::size_t place = 0; place < order.size(); ++place) tensors[place].number = place;
  return tensors;
}

Buckets our_buckets(const LayerTrace& trace, const std::vector<std::size_t>& order,
                    const std::vector<Bytes>& limits, BucketOrder bucket_order) {
  Buckets ours;
  TensorWalk walk(our_tensors(trace, order, bucket_order));
  for (const auto& bucket : walk.assign(limits, bucket_order))
    ours.emplace_back(bucket.tensors.begin(), bucket.tensors.end());
  return ours;
}

// Element for element, in order.
void expect_same_buckets(const LayerTrace& trace, const std::vector<std::size_t>& order,
                         const std::vector<Bytes>& limits, BucketOrder bucket_order) {
  EXPECT_EQ(our_buckets(trace, order, limits, bucket_order),
            torch_buckets(trace, order, limits, bucket_order));
}

std::vector<std::size_t> arrival_order(const LayerTrace& trace) {
  std::vector<std::size_t> order(trace.gradients.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

TEST(LibTorchOracle, TensorsOnTheMetaDeviceHaveTheirFullSize) {
  auto trace = gpt2_trace(transformer_named("gpt2-xl"));
  double bytes = 0;
  for (const auto& tensor : torch_tensors(trace, arrival_order(trace)))
    bytes += static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
  EXPECT_EQ(Bytes(bytes), trace.bytes());
}

TEST(LibTorchOracle, Gpt2OfEverySizeAndCap) {
  for (const auto& model : gpt2_presets())
    for (auto dtype : {DType::float32, DType::bfloat16})
      for (auto cap : {1_MiB, 5_MiB, 25_MiB, 50_MiB, 100_MiB, 200_MiB, 500_MiB})
        for (const auto& limits : {std::vector<Bytes>{1_MiB, cap}, {cap, cap}}) {
          SCOPED_TRACE(model.name + ", cap " + std::to_string(cap.value()));
          auto trace = gpt2_trace(model, dtype);
          expect_same_buckets(trace, arrival_order(trace), limits, BucketOrder::as_closed);
          expect_same_buckets(trace, trace.registration_order, limits, BucketOrder::by_first_tensor);
        }
}

TEST(LibTorchOracle, RandomTensorsAndLimits) {
  constexpr unsigned kCases = 6000;
  std::size_t buckets = 0, several_open = 0;
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    auto trace = random.trace(40, random.chance(50) ? 10 : 1'000'000);
    std::vector<Bytes> limits;
    for (auto n = random.number(1, 5); n > 0; --n)
      limits.push_back(random.cap(trace.bytes() * 0.5 + Bytes(1)));
    auto order = trace.registration_order;
    std::shuffle(order.begin(), order.end(), random.random());
    auto bucket_order = random.chance(50) ? BucketOrder::as_closed : BucketOrder::by_first_tensor;
    expect_same_buckets(trace, order, limits, bucket_order);
    auto ours = TensorWalk(our_tensors(trace, order, bucket_order)).assign(limits, bucket_order);
    buckets += ours.size();
    several_open += std::count_if(ours.begin(), ours.end(), [](const auto& b) { return !b.closed; }) > 1;
  }
  EXPECT_GT(buckets, 4 * kCases);  // the cases are not all trivial
  EXPECT_GT(several_open, kCases / 10);
}

}  // namespace
}  // namespace ddpsim
