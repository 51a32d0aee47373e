#include "sim/trace/import/pytorch_profiler/sizes.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

const GpuWork* copy_of(const Profile& profile, std::int64_t correlation) {
  auto found = std::lower_bound(profile.gpu_work.begin(), profile.gpu_work.end(), correlation,
                                [](const GpuWork& work, std::int64_t key) { return work.correlation < key; });
  bool is_copy = found != profile.gpu_work.end() && found->correlation == correlation &&
                 found->kind == GpuWorkKind::memcpy && found->bytes > 0;
  return is_copy ? &*found : nullptr;
}

}  // namespace

Sizes sizes_by_shapes(const Step& step) {
  std::vector<GradientSize> sizes;
  for (const auto& accumulation : step.accumulations) {
    if (!accumulation.elements)
      return Flaw{"a gradient has no shape", "is it sparse, or a parameter that no pass used?"};
    auto dtype = dtype_of(accumulation.dtype);
    if (!dtype)
      return Flaw{fmt::format("a gradient has elements of type '{}'", accumulation.dtype),
                  "gradients are float16, bfloat16, float32 or float64"};
    if (*accumulation.elements < 1 || *accumulation.elements > kMostProfiledElements)
      return Flaw{"a gradient has a shape of no elements, or of too many", "is the trace damaged?"};
    sizes.push_back({*accumulation.elements, *dtype});
  }
  return sizes;
}

CopiedBytes copied_bytes(const Profile& profile) {
  const auto& operators = profile.bucket_copies;
  CopiedBytes copied(operators.size());
  for (const auto& launch : profile.launches) {
    // The operators follow each other on their thread; the launch is inside the last that starts before it.
    auto after = std::upper_bound(operators.begin(), operators.end(), launch.at,
                                  [](Time moment, const ThreadSpan& span) { return moment < span.start; });
    if (after == operators.begin()) continue;
    auto op = std::prev(after);
    if (op->thread != launch.thread || !op->contains(launch.at)) continue;
    if (const auto* copy = copy_of(profile, launch.correlation))
      copied[static_cast<std::size_t>(op - operators.begin())] = copy->bytes;
  }
  return copied;
}

std::vector<std::int64_t> copies_of(const Step& step, const Profile& profile, const CopiedBytes& copied) {
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    auto start = profile.bucket_copies[i].start;
    if (start < step.backward.start || start >= step.end) continue;
    if (!copied[i]) return {};
    copies.push_back(*copied[i]);
  }
  return copies.size() == step.accumulations.size() ? copies : std::vector<std::int64_t>{};
}

Sizes sizes_by_copies(const std::vector<std::int64_t>& copies, const Step& step,
                      const StepAllReduces& all_reduces) {
  if (all_reduces.flaw) return *all_reduces.flaw;
  if (all_reduces.list.empty())
    return Flaw{fmt::format("{} has no all-reduces", step.name), "profile whole training steps"};
  if (copies.empty())
    return Flaw{fmt::format("{} does not have a copy out of DDP's buckets for each gradient", step.name),
                "is the trace cut off? Profile whole training steps"};
  std::vector<GradientSize> sizes;
  auto copy = copies.begin();
  for (std::size_t k = 0; k < all_reduces.list.size(); ++k) {
    const auto& bucket = all_reduces.list[k];
    auto width = bytes_per_element(bucket.dtype);
    std::int64_t elements = 0;
    while (elements < bucket.elements && copy != copies.end() && *copy % width == 0 &&
           *copy / width <= bucket.elements - elements) {
      elements += *copy / width;
      sizes.push_back({*copy / width, bucket.dtype});
      ++copy;
    }
    if (elements != bucket.elements)
      return Flaw{
          fmt::format("{}: the copies out of DDP's buckets contradict all-reduce {}, which has {} "
                      "elements of {}; {} of them were copied",
                      step.name, k, bucket.elements, dtype_name(bucket.dtype), elements),
          "a communication hook that compresses, or a damaged trace? Profile with record_shapes=True"};
  }
  if (copy != copies.end())
    return Flaw{
        fmt::format("{}: {} gradients are copied out of DDP's buckets and no all-reduce holds the last "
                    "{} of them",
                    step.name, copies.size(), copies.end() - copy),
        "is the trace cut off? Profile whole training steps, or with record_shapes=True"};
  return sizes;
}

Sizes sizes_by_buckets(const Step& step, const StepAllReduces& all_reduces) {
  if (all_reduces.flaw) return *all_reduces.flaw;
  if (all_reduces.list.empty())
    return Flaw{
        fmt::format("{} says nothing of its gradients' sizes: no shapes, no copies out of DDP's buckets "
                    "and no all-reduces of NCCL",
                    step.name),
        "profile with record_shapes=True, or a DistributedDataParallel run on GPUs with NCCL"};
  std::vector<GradientSize> sizes;
  for (const auto& bucket : all_reduces.list) sizes.push_back({bucket.elements, bucket.dtype});
  return sizes;
}

}  // namespace ddpsim::pytorch_profiler
