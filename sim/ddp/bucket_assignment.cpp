#include "sim/ddp/bucket_assignment.hpp"

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kDTypes = 4;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct OpenBucket {
  std::size_t bucket = kNone;  // none until the dtype's next tensor arrives
  std::size_t limit = 0;
};

// The place of each bucket, buckets being numbered by their first tensors: closed ones in closing order, then
// the open ones, a dtype each, in the reverse of `appearance`, the dtypes in the order of the walk.
// (reducer.cpp walks an unordered_map of a few keys, which libstdc++ lists from the newest key to the
// oldest.)
std::vector<std::size_t> places_as_closed(const std::vector<AssignedBucket>& buckets,
                                          const std::vector<std::size_t>& closing_order,
                                          const std::vector<DType>& appearance,
                                          const std::array<OpenBucket, kDTypes>& open_by_dtype) {
  std::vector<std::size_t> place(buckets.size());
  std::size_t next = 0;
  for (auto bucket : closing_order) place[bucket] = next++;
  for (auto dtype = appearance.rbegin(); dtype != appearance.rend(); ++dtype)
    if (auto open = open_by_dtype[static_cast<std::size_t>(*dtype)].bucket; open != kNone)
      place[open] = next++;
  return place;
}

}  // namespace

BucketAssignment compute_bucket_assignment(std::span<const TensorSize> tensors, std::span<const Bytes> limits,
                                           BucketOrder order) {
  DDPSIM_CHECK(!limits.empty(), "an assignment needs a limit");
  BucketAssignment assignment;
  assignment.bucket_of.reserve(tensors.size());
  auto& buckets = assignment.buckets;
  std::array<OpenBucket, kDTypes> open_by_dtype;
  std::vector<std::size_t> closing_order;
  std::vector<DType> appearance;
  for (const auto& tensor : tensors) {
    auto& open = open_by_dtype[static_cast<std::size_t>(tensor.dtype)];
    if (std::find(appearance.begin(), appearance.end(), tensor.dtype) == appearance.end())
      appearance.push_back(tensor.dtype);
    if (open.bucket == kNone) {
      open.bucket = buckets.size();
      buckets.push_back({.bytes = Bytes(0), .dtype = tensor.dtype, .limit = open.limit, .closed = false});
    }
    assignment.bucket_of.push_back(open.bucket);
    auto& bucket = buckets[open.bucket];
    bucket.bytes += tensor.bytes;
    if (bucket.bytes < limits[open.limit]) continue;
    bucket.closed = true;
    closing_order.push_back(open.bucket);
    open = {.bucket = kNone, .limit = std::min(open.limit + 1, limits.size() - 1)};
  }
  // Buckets are numbered in the order in which they were opened, which is that of their first tensors.
  if (order == BucketOrder::by_first_tensor) return assignment;

  auto place = places_as_closed(buckets, closing_order, appearance, open_by_dtype);
  std::vector<AssignedBucket> placed(buckets.size());
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) placed[place[bucket]] = buckets[bucket];
  buckets = std::move(placed);
  for (auto& bucket : assignment.bucket_of) bucket = place[bucket];
  return assignment;
}

BucketAssignment close_before_exceeding(std::span<const TensorSize> tensors, Bytes cap) {
  BucketAssignment assignment;
  auto& buckets = assignment.buckets;
  std::array<std::size_t, kDTypes> open_by_dtype;
  open_by_dtype.fill(kNone);
  for (const auto& tensor : tensors) {
    auto& open = open_by_dtype[static_cast<std::size_t>(tensor.dtype)];
    if (open != kNone && buckets[open].bytes + tensor.bytes > cap) {
      buckets[open].closed = true;
      open = kNone;
    }
    if (open == kNone) {
      open = buckets.size();
      buckets.push_back({.bytes = Bytes(0), .dtype = tensor.dtype});
    }
    assignment.bucket_of.push_back(open);
    buckets[open].bytes += tensor.bytes;
  }
  return assignment;
}

}  // namespace ddpsim
