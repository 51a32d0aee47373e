#include "sim/trace/import/pytorch_profiler/registration.hpp"

#include <algorithm>
#include <map>

#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

// Gradients by their number of elements, the last to arrive first.
using ByElements = std::map<std::int64_t, std::vector<std::size_t>>;

std::optional<std::vector<std::size_t>> match(const TensorList& list, const MeasuredStep& step) {
  if (list.elements.size() != step.sizes.size()) return std::nullopt;
  ByElements waiting;
  for (std::size_t gradient = 0; gradient < step.sizes.size(); ++gradient)
    waiting[step.sizes[gradient].elements].push_back(gradient);
  std::vector<std::size_t> order;
  for (auto elements : list.elements) {
    auto& left = waiting[elements];
    if (left.empty()) return std::nullopt;
    order.push_back(left.back());
    left.pop_back();
  }
  return order;
}

// Of a broadcast: what its tensor occupies, where that is known.
std::optional<Bytes> bytes_of(const CollectiveFacts& facts) {
  if (facts.kind != CollectiveKind::broadcast || facts.elements.value_or(0) < 1) return std::nullopt;
  auto size = element_bytes(facts.dtype);
  if (!size) return std::nullopt;
  return Bytes(static_cast<double>(*facts.elements) * *size);
}

}  // namespace

std::optional<std::vector<std::size_t>> listed_by_optimizer(const Profile& profile,
                                                            const MeasuredStep& step) {
  for (const auto& list : profile.tensor_lists)
    for (const auto& span : step.step->optimizer)
      if (span.contains(list.start))
        if (auto order = match(list, step)) return order;
  return std::nullopt;
}

std::vector<Bytes> broadcast_buffers(const Profile& profile) {
  std::vector<Bytes> most;
  for (const auto& forward : profile.forwards) {
    std::vector<Bytes> sizes;
    Time counted = forward.start;  // of the records of one broadcast, one inside the other, one counts
    for (const auto& call : profile.collective_calls) {
      if (call.thread != forward.thread || !forward.contains(call.start) || call.start < counted) continue;
      auto bytes = bytes_of(call.facts);
      if (!bytes) continue;
      sizes.push_back(*bytes);
      counted = call.end;
    }
    if (sizes.size() > most.size()) most = std::move(sizes);
  }
  return most;
}

Time time_in_broadcasts(const Profile& profile, Span span) {
  Time sum{};
  for (const auto& kernel : profile.collective_kernels)
    if (kernel.facts.kind == CollectiveKind::broadcast && span.contains(kernel.start))
      sum += kernel.end - kernel.start;
  return sum;
}

}  // namespace ddpsim::pytorch_profiler
