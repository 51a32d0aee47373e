#include "sim/ddp/distinct_bucket_caps.hpp"

// Which values of bucket_cap matter. A bucket closed by cap c was below c before its last tensor and holds at
// least c with it, so raising c changes nothing until c exceeds the smallest bucket that the cap closed. One
// byte more than that is the next cap worth looking at.
#include <algorithm>
#include <optional>

#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

// The smallest bucket that was closed by one of the limits from `first_cap` on.
std::optional<Bytes> smallest_closed(const BucketAssignment& assignment, std::size_t first_cap) {
  std::optional<Bytes> smallest;
  for (const auto& bucket : assignment.buckets)
    if (bucket.closed && bucket.limit >= first_cap && (!smallest || bucket.bytes < *smallest))
      smallest = bucket.bytes;
  return smallest;
}

}  // namespace

std::vector<Bytes> distinct_bucket_caps(const LayerTrace& trace, const DdpOptions& options) {
  const Bytes one_byte(1);
  auto with_cap = options;
  with_cap.bucket_cap = one_byte;
  check_options(with_cap);
  if (options.rule != BucketRule::torch)
    throw InputError("the distinct caps are known for PyTorch's rule only",
                     "sweep over ddp.bucket_cap instead")
        .about("rule");
  auto rule = ddp_assignment_rule(trace, with_cap, find_unused_gradients(trace, with_cap));
  auto tensors = rule_tensors(trace, rule);

  std::vector<Bytes> caps{one_byte};
  auto current = compute_bucket_assignment(tensors, rule.limits, rule.order);
  while (auto smallest = smallest_closed(current, rule.first_cap)) {
    auto cap = *smallest + one_byte;
    std::fill(rule.limits.begin() + static_cast<std::ptrdiff_t>(rule.first_cap), rule.limits.end(), cap);
    auto next = compute_bucket_assignment(tensors, rule.limits, rule.order);
    // A dtype's last bucket that is no longer closed may still hold the same tensors at the same place.
    if (next.bucket_of != current.bucket_of) caps.push_back(cap);
    current = std::move(next);
  }
  return caps;
}

}  // namespace ddpsim
