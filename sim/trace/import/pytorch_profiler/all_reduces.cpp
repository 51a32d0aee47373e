#include "sim/trace/import/pytorch_profiler/all_reduces.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"
#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

// The innermost calls that enclose the launch say what the kernel does not: PyTorch before 2.2 wrote nothing
// into a kernel's args.
void complete(CollectiveFacts& facts, const Launch& launch, const std::vector<CollectiveCall>& calls) {
  auto after = std::upper_bound(calls.begin(), calls.end(), launch.at,
                                [](Time moment, const auto& call) { return moment < call.start; });
  constexpr int kNearby = 16;  // calls nest three deep
  for (int i = 0; i < kNearby && after != calls.begin(); ++i) {
    const auto& call = *--after;
    if (call.thread != launch.thread || !call.contains(launch.at)) continue;
    if (facts.kind == CollectiveKind::other) facts.kind = call.facts.kind;
    if (!facts.group_size) facts.group_size = call.facts.group_size;
    if (facts.elements || !call.facts.elements) continue;
    facts.elements = call.facts.elements;
    facts.dtype = call.facts.dtype;
  }
}

enum class Launcher { hook, node, other };

// A gradient's hook, another node of the backward pass, or neither.
Launcher launcher_of(const Launch* launch, const Step& step) {
  auto launcher = Launcher::other;
  if (!launch) return launcher;
  for (const auto& node : step.nodes) {
    if (node.start > launch->at) break;
    if (node.thread != launch->thread || !node.contains(launch->at)) continue;
    if (node.accumulates) return Launcher::hook;
    launcher = Launcher::node;
  }
  return launcher;
}

std::optional<Flaw> flaw_of(const CollectiveFacts& facts) {
  if (!facts.elements || facts.dtype.empty())
    return Flaw{"an all-reduce does not say how many elements of which type it has",
                "record with PyTorch 2.2 or newer, or with record_shapes=True"};
  if (!dtype_of(facts.dtype))
    return Flaw{fmt::format("an all-reduce has elements of type '{}'", facts.dtype),
                fmt::format("gradients are {}", fmt::join(dtype_names(), ", "))};
  if (*facts.elements < 1 || *facts.elements > kMostProfiledElements)
    return Flaw{fmt::format("an all-reduce has {} elements", *facts.elements), "is the trace damaged?"};
  return std::nullopt;
}

[[noreturn]] void fail_sharded(const Step& step) {
  throw InputError(
      fmt::format("{} launches a reduce-scatter in its backward pass: this is not DistributedDataParallel",
                  step.name),
      "traces of FSDP and ZeRO, which shard gradients, are not read yet; "
      "profile a DDP run, or one GPU alone with record_shapes=True");
}

}  // namespace

Collectives::Collectives(const Profile& profile) {
  for (const auto& kernel : profile.collective_kernels) {
    Collective collective{kernel.facts, find_launch(profile, kernel.correlation), kernel};
    if (collective.launch) complete(collective.facts, *collective.launch, profile.collective_calls);
    collectives_.push_back(std::move(collective));
  }
  std::stable_sort(collectives_.begin(), collectives_.end(),
                   [](const Collective& a, const Collective& b) { return a.at() < b.at(); });
}

// Whether the step's last backward pass launched it. Its nodes do, or the callbacks that end it, on the
// thread of its nodes: there the first iteration with static_graph=True launches all of them.
bool Collectives::belongs_to(const Step& step, const Collective& collective) {
  // A kernel starts some time after its launch, so that only the launch says what is still backward.
  if (!collective.launch || collective.at() <= step.backward.end) return true;
  return collective.at() < step.callbacks_end &&
         std::any_of(step.nodes.begin(), step.nodes.end(),
                     [&](const Node& node) { return node.thread == collective.launch->thread; });
}

StepAllReduces Collectives::all_reduces(const Step& step) const {
  StepAllReduces result;
  std::vector<const Collective*> hooked, others;
  auto first = std::ranges::lower_bound(collectives_, step.backward.start, {}, &Collective::at);
  auto last = std::ranges::lower_bound(first, collectives_.end(), step.end, {}, &Collective::at);
  for (auto c = first; c != last; ++c) {
    if (!belongs_to(step, *c)) continue;
    if (c->facts.kind == CollectiveKind::reduce_scatter) fail_sharded(step);
    auto launcher = launcher_of(c->launch, step);
    bool reduces = c->facts.kind == CollectiveKind::all_reduce && !is_integral(c->facts.dtype);
    // What nodes launch themselves (SyncBatchNorm, tensor parallelism) is no bucket.
    if (!reduces || launcher == Launcher::node)
      ++result.others;
    else
      (launcher == Launcher::hook ? hooked : others).push_back(&*c);
  }
  result.hooked = !hooked.empty();
  if (result.hooked) result.others += others.size();
  for (const auto* c : result.hooked ? hooked : others) {
    result.end = std::max(result.end, c->kernel.end);
    if (!result.flaw) result.flaw = flaw_of(c->facts);
    if (result.flaw) continue;
    result.list.push_back({*c->facts.elements, *dtype_of(c->facts.dtype), c->facts.group_size,
                           c->launch ? std::optional(c->launch->at) : std::nullopt, c->kernel});
  }
  if (result.flaw) result.list.clear();
  return result;
}

}  // namespace ddpsim::pytorch_profiler
