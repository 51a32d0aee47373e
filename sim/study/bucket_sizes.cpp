#include "sim/study/bucket_sizes.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

struct OfStrategies {
  std::vector<std::string_view> strategies;
  BucketSizes sizes;
};

// A quarter of PyTorch's 25 MiB to eight times as much; of Megatron-LM's 40e6 elements (1e6 a rank, where
// those are more), and a hundredth of DeepSpeed's 5e8 to twice as many. A unit is a layer, or several.
const OfStrategies kSizes[] = {
    {{"ddp"}, {"ddp", "bucket_cap", {"6.25MiB", "50MiB", "100MiB", "200MiB"}}},
    {{"megatron"},
     {"megatron", "bucket_size", {"10000000", "40000000", "160000000", "640000000", "2560000000"}}},
    {{"zero1", "zero2", "zero3"},
     {"zero", "reduce_bucket_size", {"5000000", "20000000", "100000000", "200000000", "1000000000"}}},
    {{"fsdp", "fsdp1", "hsdp", "hsdp1"},
     {"fsdp", "unit", {"{layers: 2}", "{layers: 3}", "{layers: 4}", "{layers: 8}"}}},
};

}  // namespace

const BucketSizes* bucket_sizes_of(std::string_view strategy) {
  for (const auto& [strategies, sizes] : kSizes)
    if (std::find(strategies.begin(), strategies.end(), strategy) != strategies.end()) return &sizes;
  return nullptr;
}

}  // namespace ddpsim
