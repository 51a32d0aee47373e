#pragma once
// Which of PyTorch's rules apply to given options: what is assigned, in which order, under which limits.
// Holds the facts that differ from one PyTorch version to the next.
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/ddp/bucket_assignment.hpp"
#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim {

inline constexpr Bytes kDefaultFirstBucket{0x1p20};     // 1 MiB; reducer.hpp: kDefaultFirstBucketBytes
inline constexpr Bytes kDefaultBucketCap{25 * 0x1p20};  // 25 MiB; reducer.hpp: kDefaultBucketBytesCap

// "2.6" or "2.6.1"; nothing for what is no version. Whether it has known rules is check_options' business.
std::optional<TorchVersion> parse_torch_version(std::string_view text);

// Throws InputError for values no PyTorch accepts: versions without known rules, options a version does not
// have, caps given twice or below one byte.
void check_options(const DdpOptions& options);

// The gradients named by options.unused_parameters, ascending. Throws InputError for an unknown name, or when
// none is left.
std::vector<std::size_t> find_unused_gradients(const LayerTrace& trace, const DdpOptions& options);

// Unused parameters are searched for in every iteration; static_graph makes that unnecessary (reducer.cpp:
// dynamic_graph_find_unused).
bool searches_unused_parameters(const DdpOptions& options);

// static_graph only counts gradients in its first iteration and reduces them all at the end (reducer.cpp:
// delay_all_reduce).
bool delays_all_reduce(const DdpOptions& options);

// The cap that DDPOptimizer cuts a compiled graph by: that of a list is its largest (distributed.py:
// _BucketCapacityConfig).
Bytes compiled_cap(const DdpOptions& options);

// Whether PowerSGD is registered and compresses in this iteration. Throws InputError for options it refuses,
// and where the shapes of the gradients are not known.
bool compresses_low_rank(const LayerTrace& trace, const DdpOptions& options);

// Whether the buckets are those made when DDP was constructed, in the reverse order of registration: before
// they are rebuilt in the order of arrival (after the first iteration, under static_graph after the second),
// and always with find_unused_parameters.
bool has_initial_buckets(const DdpOptions& options);

struct AssignmentRule {
  std::vector<Bytes> limits;  // infinite: no limit
  std::size_t first_cap = 0;  // limits from here on follow options.bucket_cap
  BucketOrder order = BucketOrder::as_closed;
  bool reverse_buckets = false;  // after the assignment
};

inline constexpr Bytes kNoLimit{std::numeric_limits<double>::infinity()};  // distributed.py: sys.maxsize

AssignmentRule ddp_assignment_rule(const DdpOptions& options);

// The gradients in the order in which PyTorch assigns them. Throws InputError where some of them never
// arrive and would hang it.
std::vector<std::size_t> ddp_assignment_order(const LayerTrace& trace, const DdpOptions& options,
                                              const std::vector<std::size_t>& unused);

std::vector<NumberedTensor> tensors_of(const LayerTrace& trace, std::span<const std::size_t> gradients);

}  // namespace ddpsim
