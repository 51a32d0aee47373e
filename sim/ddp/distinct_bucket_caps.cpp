#include "sim/ddp/distinct_bucket_caps.hpp"

// Which values of bucket_cap matter. A bucket closed by cap c was below c before its last tensor and holds at
// least c with it, so raising c changes nothing until c exceeds the smallest bucket that the cap closed. One
// byte more than that is the next cap worth looking at. The subgraphs of a compiled graph are closed alike.
#include <algorithm>

#include "sim/base/source.hpp"
#include "sim/ddp/bucket_assignment.hpp"
#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

// What a cap says.
struct Assignment {
  std::vector<AssignedBucket> buckets;
  Subgraphs subgraphs;  // of a compiled graph
};

// The smallest bucket that was closed by one of the limits from `first_cap` on, or subgraph.
std::optional<Bytes> smallest_closed(const Assignment& assignment, std::size_t first_cap) {
  auto smallest = assignment.subgraphs.smallest_closed;
  for (const auto& bucket : assignment.buckets)
    if (bucket.closed && bucket.limit >= first_cap && (!smallest || bucket.bytes < *smallest))
      smallest = bucket.bytes;
  return smallest;
}

// Of one walk: the same ranges of it.
bool hold_the_same(const Assignment& some, const Assignment& others) {
  auto same_bucket = [](const AssignedBucket& a, const AssignedBucket& b) {
    return a.tensors.data() == b.tensors.data() && a.tensors.size() == b.tensors.size();
  };
  return some.subgraphs.ends == others.subgraphs.ends &&
         std::ranges::equal(some.buckets, others.buckets, same_bucket);
}

std::size_t hash_of(const std::vector<Bucket>& buckets) {
  std::size_t hash = buckets.size();
  for (const auto& bucket : buckets) hash = hash * 1000003 + std::hash<double>()(bucket.bytes.value());
  return hash;
}

}  // namespace

void for_each_distinct_bucket_cap(const LayerTrace& trace, const DdpOptions& options,
                                  const std::function<void(Bytes cap)>& visit) {
  const Bytes one_byte(1);
  auto with_cap = options;
  with_cap.bucket_cap = options.compiled ? kDefaultFirstBucket : one_byte;
  check_options(with_cap);
  if (options.rule != BucketRule::torch)
    throw InputError("the distinct caps are known for PyTorch's rule only",
                     "sweep over ddp.bucket_cap instead")
        .about("rule");
  auto rule = ddp_assignment_rule(with_cap);
  auto unused = find_unused_gradients(trace, with_cap);
  TensorWalk walk(tensors_of(trace, ddp_assignment_order(trace, with_cap, unused)));
  CompiledGraph graph;
  if (options.compiled) graph = compiled_graph(trace, unused, options.tied_head);
  auto with = [&](Bytes cap) -> Assignment {
    return {walk.assign(rule.limits, rule.order), subgraphs(graph, cap)};
  };
  // With limits as they are: those of the first cap, or none at all that a cap would change.
  auto current = with(*with_cap.bucket_cap);
  visit(*with_cap.bucket_cap);
  while (auto smallest = smallest_closed(current, rule.first_cap)) {
    auto cap = *smallest + one_byte;
    std::fill(rule.limits.begin() + static_cast<std::ptrdiff_t>(rule.first_cap), rule.limits.end(), cap);
    auto next = with(cap);
    // A dtype's last bucket that is no longer closed may still hold the same tensors at the same place.
    if (!hold_the_same(next, current)) visit(cap);
    current = std::move(next);
  }
}

std::vector<Bytes> distinct_bucket_caps(const LayerTrace& trace, const DdpOptions& options) {
  std::vector<Bytes> caps;
  for_each_distinct_bucket_cap(trace, options, [&](Bytes cap) { caps.push_back(cap); });
  return caps;
}

std::size_t KnownBuckets::first_with(std::size_t number, const ReductionPlan& plan, const DdpOptions& options,
                                     std::optional<Bytes> cap) {
  auto plan_with = [&](std::optional<Bytes> of) { return of ? with_bucket_cap(plan, options, *of) : plan; };
  auto own = plan_with(cap);
  auto& known = by_hash_[hash_of(own.buckets)];
  for (const auto& [other, other_cap] : known)
    if (auto its = plan_with(other_cap); its.buckets == own.buckets && its.subgraph_end == own.subgraph_end)
      return other;
  known.push_back({number, cap});
  return number;
}

}  // namespace ddpsim
