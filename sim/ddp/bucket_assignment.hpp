#pragma once
// The walk that puts tensors into buckets: compute_bucket_assignment_by_size of PyTorch's reducer.cpp. Sparse
// gradients (a bucket each in PyTorch) do not occur in traces.
#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct TensorSize {
  Bytes bytes;
  DType dtype = DType::float32;
};

// How the finished buckets are ordered.
enum class BucketOrder {
  by_first_tensor,  // tensor_indices empty in PyTorch: the initial buckets, sorted by their smallest index
  as_closed,        // tensor_indices given: the rebuilt buckets, those left open last
};

struct AssignedBucket {
  Bytes bytes;
  DType dtype = DType::float32;
  std::size_t limit = 0;  // which of the limits was in force
  bool closed = false;    // reached that limit; the last bucket of a dtype may stay open
};

struct BucketAssignment {
  // One entry a tensor, in the order given; inside a bucket the tensors keep that order.
  std::vector<std::size_t> bucket_of;
  std::vector<AssignedBucket> buckets;
};

// Adds tensor after tensor to the open bucket of its dtype and closes that bucket once it holds at least the
// dtype's current limit, then moves on to the next limit, staying on the last. So a limit is soft: a tensor
// is never split. as_closed, the buckets left open come last, in the reverse order of each dtype's first
// appearance in the walk (PyTorch 1.13 to 2.15, tests/ddp/recorded).
BucketAssignment compute_bucket_assignment(std::span<const TensorSize> tensors, std::span<const Bytes> limits,
                                           BucketOrder order);

// The walk of hand-written implementations: the open bucket of a dtype is closed when the next tensor would
// take it beyond the cap; a tensor that is larger than the cap has a bucket of its own. Buckets in the order
// of their first tensors.
BucketAssignment close_before_exceeding(std::span<const TensorSize> tensors, Bytes cap);

}  // namespace ddpsim
