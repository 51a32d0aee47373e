#include "sim/trace/import/pytorch_profiler/layer_forwards.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

namespace ddpsim::pytorch_profiler {
namespace {

std::span<const ForwardOperator> forward_of(const Profile& profile, const Step& step) {
  auto before = [](const ForwardOperator& op, Time moment) { return op.start < moment; };
  const auto& all = profile.forward_operators;
  auto first = std::lower_bound(all.begin(), all.end(), *step.forward_start, before);
  auto last = std::lower_bound(first, all.end(), step.backward.start, before);
  return {first, last};
}

// The one with most of them: a thread that loads data has some, too.
std::uint32_t busiest_thread(std::span<const ForwardOperator> operators) {
  std::map<std::uint32_t, int> count;
  for (const auto& op : operators) ++count[op.thread];
  return std::max_element(count.begin(), count.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// By sequence number. An operator that makes no node has the number of the next one that does.
std::map<std::int64_t, Time> ends_of(std::span<const ForwardOperator> operators) {
  std::map<std::int64_t, Time> ends;
  auto thread = busiest_thread(operators);
  Time outermost_end = Time::min();
  for (const auto& op : operators) {
    if (op.thread != thread) continue;
    if (op.start >= outermost_end) outermost_end = op.end;
    auto& end = ends.try_emplace(op.sequence, outermost_end).first->second;
    end = std::max(end, outermost_end);
  }
  return ends;
}

// A gradient is accumulated as soon as the last node that adds to it is done.
const Node* maker_of(const Accumulation& accumulation, std::span<const Node> nodes) {
  auto after = std::upper_bound(nodes.begin(), nodes.end(), accumulation.start,
                                [](Time moment, const Node& node) { return moment < node.start; });
  while (after != nodes.begin())
    if (--after; after->thread == accumulation.thread && !after->accumulates) return &*after;
  return nullptr;
}

}  // namespace

std::vector<Time> layer_forwards(const Profile& profile, const Step& step, const ComputeStream& stream) {
  if (!step.forward_start) return {};
  auto operators = forward_of(profile, step);
  if (operators.empty()) return {};
  auto ends = ends_of(operators);
  std::vector<Time> result;
  for (const auto& accumulation : step.accumulations) {
    const auto* maker = maker_of(accumulation, step.nodes);
    auto end = maker ? ends.find(maker->sequence) : ends.end();
    if (end == ends.end()) return {};
    // What is around an operator may last into the backward pass (a hook that calls it): not a layer.
    if (end->second > step.backward.start) return {};
    result.push_back(stream.event(end->second));
  }
  bool all_equal = std::adjacent_find(result.begin(), result.end(), std::not_equal_to<>()) == result.end();
  return all_equal && result.size() > 1 ? std::vector<Time>{} : result;
}

}  // namespace ddpsim::pytorch_profiler
