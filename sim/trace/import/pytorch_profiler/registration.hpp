#pragma once
// What a profile says of the model besides its gradients: the order in which its parameters are registered,
// and the buffers that DDP broadcasts.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/trace/import/pytorch_profiler/gradients.hpp"

namespace ddpsim::pytorch_profiler {

// Gradient indices in the order in which an optimizer that updates all parameters at once lists them: that of
// model.parameters(), unless they were given to it in another. Of gradients with as many elements the first
// listed is taken to be the last to arrive. None without record_shapes, or where no list holds just these
// gradients (several parameter groups, an optimizer that goes parameter by parameter).
std::optional<std::vector<std::size_t>> listed_by_optimizer(const Profile& profile, const MeasuredStep& step);

// The sizes of the broadcasts inside a DistributedDataParallel.forward, of the forward with most of them
// (under no_sync there are none).
std::vector<Bytes> broadcast_buffers(const Profile& profile);

// What the kernels of broadcasts took that started in a span of the GPU's time: a forward pass without them
// is what the model and Python take.
Time time_in_broadcasts(const Profile& profile, Span span);

}  // namespace ddpsim::pytorch_profiler
