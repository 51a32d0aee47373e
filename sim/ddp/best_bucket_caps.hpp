#pragma once
// The best list of caps, one a bucket, of all-reduces that run one after the other.
#include <functional>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// Where the buckets end with which the last all-reduce ends earliest, as places behind their last tensors.
// Tensors are in the order of their assignment, each with when it is ready; a bucket starts once it and all
// before it are ready and the one before it is reduced, and then takes `time` of its bytes. Of equally good
// ones those with the larger last buckets. Every pair of tensors is looked at.
std::vector<std::size_t> best_buckets(std::span<const Bytes> tensors, std::span<const Seconds> ready,
                                      const std::function<Seconds(Bytes)>& time);

// Caps under which PyTorch's walk gives those buckets: whole MiB where there are any, equal ones at the end
// once.
std::vector<Bytes> caps_of_buckets(std::span<const Bytes> tensors, std::span<const std::size_t> ends);

}  // namespace ddpsim
