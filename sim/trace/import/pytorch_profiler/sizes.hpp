#pragma once
// The sizes of one step's gradients, by each of the rules; a flaw says why a rule does not tell them.
#include <variant>
#include <vector>

#include "sim/trace/import/pytorch_profiler/gradients.hpp"

namespace ddpsim::pytorch_profiler {

using Sizes = std::variant<std::vector<GradientSize>, Flaw>;

Sizes sizes_by_shapes(const Step& step);

// What was copied for each gradient out of its bucket, as in Profile::bucket_copies; none where that was no
// plain copy.
using CopiedBytes = std::vector<std::optional<std::int64_t>>;
CopiedBytes copied_bytes(const Profile& profile);

// Those of the step, when there is one for each of its gradients; else empty.
std::vector<std::int64_t> copies_of(const Step& step, const Profile& profile, const CopiedBytes& copied);

// The copies come in the order of the buckets, which DDP rebuilds in arrival order. Their sums must be the
// all-reduces' messages.
Sizes sizes_by_copies(const std::vector<std::int64_t>& copies, const Step& step,
                      const StepAllReduces& all_reduces);

Sizes sizes_by_buckets(const Step& step, const StepAllReduces& all_reduces);

}  // namespace ddpsim::pytorch_profiler
