#include "sim/ddp/distinct_bucket_caps.hpp"

// Which values of bucket_cap matter. A bucket closed by cap c was below c before its last tensor and holds at
// least c with it, so raising c changes nothing until c exceeds the smallest bucket that the cap closed. One
// byte more than that is the next cap worth looking at.
#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

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

// Recognises assignments that come again by their hash, which is compared with the assignment itself.
class Seen {
 public:
  using Assign = std::function<BucketAssignment(Bytes cap)>;
  explicit Seen(Assign assign) : assign_(std::move(assign)) {}

  // The number of the first cap that gave these buckets; caps are numbered as they come.
  std::size_t first_with(const BucketAssignment& assignment, Bytes cap) {
    auto number = n_++;
    auto [from, to] = by_hash_.equal_range(hash_of(assignment));
    for (auto at = from; at != to; ++at)
      if (assign_(at->second.cap).bucket_of == assignment.bucket_of) return at->second.number;
    by_hash_.emplace(hash_of(assignment), Cap{number, cap});
    return number;
  }

 private:
  struct Cap {
    std::size_t number;
    Bytes cap;
  };
  static std::size_t hash_of(const BucketAssignment& assignment) {
    std::string_view bytes(reinterpret_cast<const char*>(assignment.bucket_of.data()),
                           assignment.bucket_of.size() * sizeof assignment.bucket_of.front());
    return std::hash<std::string_view>()(bytes);
  }

  Assign assign_;
  std::size_t n_ = 0;
  std::unordered_multimap<std::size_t, Cap> by_hash_;
};

}  // namespace

void for_each_distinct_bucket_cap(const LayerTrace& trace, const DdpOptions& options,
                                  const std::function<void(Bytes cap, std::size_t same_as)>& visit) {
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
  auto assign = [&](Bytes cap) {
    std::fill(rule.limits.begin() + static_cast<std::ptrdiff_t>(rule.first_cap), rule.limits.end(), cap);
    return compute_bucket_assignment(tensors, rule.limits, rule.order);
  };

  // With limits as they are: those of one byte, or none at all that a cap would change.
  auto current = compute_bucket_assignment(tensors, rule.limits, rule.order);
  Seen seen(assign);
  visit(one_byte, seen.first_with(current, one_byte));
  while (auto smallest = smallest_closed(current, rule.first_cap)) {
    auto cap = *smallest + one_byte;
    auto next = assign(cap);
    // A dtype's last bucket that is no longer closed may still hold the same tensors at the same place.
    if (next.bucket_of != current.bucket_of) visit(cap, seen.first_with(next, cap));
    current = std::move(next);
  }
}

std::vector<Bytes> distinct_bucket_caps(const LayerTrace& trace, const DdpOptions& options) {
  std::vector<Bytes> caps;
  for_each_distinct_bucket_cap(trace, options, [&](Bytes cap, std::size_t) { caps.push_back(cap); });
  return caps;
}

}  // namespace ddpsim
