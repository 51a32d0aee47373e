#include "sim/ddp/ddp_rules.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

using namespace literals;

// The first version with each rule, as released.
constexpr TorchVersion kOldest{1, 7};       // gradient_as_bucket_view, and buckets rebuilt in arrival order
constexpr TorchVersion kFp16Hook{1, 8};     // default_hooks.py: fp16_compress_hook
constexpr TorchVersion kPowerSgd{1, 8};     // powerSGD_hook.py
constexpr TorchVersion kBf16Hook{1, 10};    // default_hooks.py: bf16_compress_hook
constexpr TorchVersion kStaticGraph{1, 9};  // distributed.py: _set_static_graph
constexpr TorchVersion kCompile{2, 0};      // torch.compile
constexpr TorchVersion kLastRoundRobin{2, 4};        // distributed_c10d: _round_robin_process_groups
constexpr TorchVersion kSetLastBucketCap{1, 10};     // reducer.cpp: DDP_SET_LAST_BUCKET_CAP
constexpr TorchVersion kFirstIterationWhole{1, 12};  // distributed.py: bucket_size_limits = [sys.maxsize]
constexpr TorchVersion kLastOfMajor1{1, 13};
constexpr TorchVersion kCapForFirstToo{2, 4};  // distributed.py: bucket_bytes_cap_default
constexpr TorchVersion kCapList{2, 11};        // distributed.py: bucket_cap_mb_list

std::string text(TorchVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

void check_version(TorchVersion version) {
  bool known = version >= kOldest && version.major <= 2 && version.minor >= 0 &&
               (version.major != 1 || version <= kLastOfMajor1);
  if (!known)
    throw InputError(fmt::format("no bucketing rules are known for torch {}", text(version)),
                     fmt::format("versions {} to {} and 2.x are known", text(kOldest), text(kLastOfMajor1)))
        .about("torch");
}

void check_since(bool used, std::string_view option, TorchVersion version, TorchVersion since) {
  if (!used || version >= since) return;
  throw InputError(fmt::format("torch {} has no {}", text(version), option),
                   fmt::format("it appeared in torch {}", text(since)))
      .about(std::string(option.substr(0, option.find(' '))));
}

void check_cap(std::string_view option, Bytes cap) {
  if (cap >= 1_B) return;
  throw InputError(fmt::format("{} must be at least one byte", option),
                   "a cap of 1B gives every gradient a bucket of its own")
      .about(std::string(option.substr(option.rfind(' ') + 1)));
}

// Since 2.4 a cap that is given holds for the first bucket as well.
bool first_bucket_follows_cap(const DdpOptions& options) {
  return options.bucket_cap && !options.first_bucket_cap && options.torch >= kCapForFirstToo;
}

std::vector<Bytes> bucket_limits(const DdpOptions& options) {
  if (!options.bucket_caps.empty()) return options.bucket_caps;
  auto cap = options.bucket_cap.value_or(kDefaultBucketCap);
  if (first_bucket_follows_cap(options)) return {cap};
  return {options.first_bucket_cap.value_or(kDefaultFirstBucket), cap};
}

// Of buckets rebuilt once, over the gradients as they arrived (reducer.cpp: rebuild_buckets).
std::vector<std::size_t> rebuilt_order(const LayerTrace& trace, const DdpOptions& options,
                                       const std::vector<std::size_t>& unused) {
  std::vector<std::size_t> order;
  auto is_unused = [&](std::size_t gradient) {
    return std::binary_search(unused.begin(), unused.end(), gradient);
  };
  for (std::size_t gradient = 0; gradient < trace.gradients.size(); ++gradient)
    if (!is_unused(gradient)) order.push_back(gradient);
  // Only static_graph comes here with unused parameters: it appends them as registered (reducer.cpp:
  // mark_variable_ready).
  std::copy_if(trace.registration_order.begin(), trace.registration_order.end(), std::back_inserter(order),
               is_unused);
  // The walk starts from the end, so that the small first bucket becomes the last one. The buckets are turned
  // back afterwards, the gradients inside each of them are not.
  if (options.set_last_bucket_cap) std::reverse(order.begin(), order.end());
  return order;
}

void check_hand_written(const DdpOptions& options) {
  auto refuse = [](bool used, const char* option) {
    if (used)
      throw InputError(fmt::format("{} is PyTorch's, and rule: close_before_exceeding is not", option),
                       "remove one of the two")
          .about(option);
  };
  refuse(options.first_bucket_cap.has_value(), "first_bucket_cap");
  refuse(!options.bucket_caps.empty(), "bucket_caps");
  refuse(options.find_unused_parameters, "find_unused_parameters");
  refuse(options.static_graph, "static_graph");
  refuse(options.set_last_bucket_cap, "set_last_bucket_cap");
  refuse(options.iteration != DdpIteration::steady, "iteration");
  refuse(options.comm_hook != CommHook::none, "comm_hook");
  refuse(options.compiled, "compiled");
  refuse(options.process_groups != 1, "process_groups");
  refuse(options.broadcast_buffers && !options.broadcast_buffers->empty(), "broadcast_buffers");
  if (!options.bucket_cap)
    throw InputError("rule: close_before_exceeding has no default cap", "set ddp.bucket_cap").about("rule");
}

}  // namespace

std::optional<TorchVersion> parse_torch_version(std::string_view text) {
  TorchVersion version;
  const char* end = text.data() + text.size();
  auto [dot, major_error] = std::from_chars(text.data(), end, version.major);
  if (major_error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  auto [rest, minor_error] = std::from_chars(dot + 1, end, version.minor);
  if (minor_error != std::errc() || (rest != end && *rest != '.')) return std::nullopt;
  if (version.major < 0 || version.minor < 0) return std::nullopt;
  return version;
}

void check_options(const DdpOptions& options) {
  if (options.rule == BucketRule::close_before_exceeding) check_hand_written(options);
  check_version(options.torch);
  check_since(options.static_graph, "static_graph", options.torch, kStaticGraph);
  check_since(options.comm_hook == CommHook::fp16, "comm_hook fp16", options.torch, kFp16Hook);
  check_since(options.comm_hook == CommHook::bf16, "comm_hook bf16", options.torch, kBf16Hook);
  check_since(options.comm_hook == CommHook::power_sgd, "comm_hook powersgd", options.torch, kPowerSgd);
  check_since(options.set_last_bucket_cap, "set_last_bucket_cap (DDP_SET_LAST_BUCKET_CAP)", options.torch,
              kSetLastBucketCap);
  check_since(options.compiled, "compiled (torch.compile)", options.torch, kCompile);
  if (options.process_groups > 1 && options.torch > kLastRoundRobin)
    throw InputError(
        fmt::format("torch {} has no process groups that take turns", text(options.torch)),
        fmt::format("_round_robin_process_groups went with torch 2.5: write torch: \"{}\" or older",
                    text(kLastRoundRobin)))
        .about("process_groups");
  check_since(!options.bucket_caps.empty(), "bucket_caps (bucket_cap_mb_list)", options.torch, kCapList);
  if (!options.bucket_caps.empty() && options.bucket_cap)
    throw InputError("bucket_caps and bucket_cap exclude each other",
                     "the last of bucket_caps holds for all later buckets")
        .about("bucket_caps");
  if (!options.bucket_caps.empty() && options.first_bucket_cap)
    throw InputError("bucket_caps and first_bucket_cap exclude each other",
                     "the first of bucket_caps is the first bucket's cap")
        .about("bucket_caps");
  if (options.bucket_cap) check_cap("bucket_cap", *options.bucket_cap);
  if (options.first_bucket_cap) check_cap("first_bucket_cap", *options.first_bucket_cap);
  for (auto cap : options.bucket_caps) check_cap("each of bucket_caps", cap);
  if (options.compiled && compiled_cap(options) < kDefaultFirstBucket)
    throw InputError("torch.compile's DDPOptimizer takes no cap below that of its first subgraph, 1 MiB",
                     "use a bucket_cap of 1MiB or more, or compiled: false")
        .about(options.bucket_cap ? "bucket_cap" : "bucket_caps");
  if (options.accumulation_steps < 1)
    throw InputError(fmt::format("accumulation_steps must be at least 1, not {}", options.accumulation_steps),
                     "1 reduces after every backward pass")
        .about("accumulation_steps");
}

std::vector<std::size_t> find_unused_gradients(const LayerTrace& trace, const DdpOptions& options) {
  std::vector<std::size_t> unused;
  if (options.unused_parameters.empty()) return unused;
  std::vector<std::string> names;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const auto& gradient : trace.gradients) {
    index.emplace(gradient.name, names.size());
    names.push_back(gradient.name);
  }
  for (const auto& name : options.unused_parameters) {
    auto found = index.find(name);
    if (found == index.end())
      throw InputError(
          fmt::format("unused parameter '{}' is not in the trace{}", name, did_you_mean(name, names)),
          fmt::format("the trace names its gradients like '{}'", names.front()))
          .about("unused_parameters");
    unused.push_back(found->second);
  }
  std::sort(unused.begin(), unused.end());
  unused.erase(std::unique(unused.begin(), unused.end()), unused.end());
  if (unused.size() == trace.gradients.size())
    throw InputError("every parameter is unused: nothing is left to reduce",
                     "leave some out of unused_parameters")
        .about("unused_parameters");
  return unused;
}

bool searches_unused_parameters(const DdpOptions& options) {
  return options.find_unused_parameters && !options.static_graph;
}

bool delays_all_reduce(const DdpOptions& options) {
  return options.static_graph && options.iteration == DdpIteration::first;
}

Bytes compiled_cap(const DdpOptions& options) {
  if (!options.bucket_caps.empty()) return *std::ranges::max_element(options.bucket_caps);
  return options.bucket_cap.value_or(kDefaultBucketCap);
}

bool compresses_low_rank(const LayerTrace& trace, const DdpOptions& options) {
  if (options.comm_hook != CommHook::power_sgd) return false;
  const auto& [rank, start, rate, error_feedback, warm_start] = options.power_sgd;
  if ((error_feedback || warm_start) && start <= 1)
    throw InputError(
        "PowerSGD with use_error_feedback or warm_start starts after the first two iterations, in which "
        "buckets are rebuilt",
        "write start_iteration: 2 or more")
        .about("comm_hook");
  if (options.parameter_rows.size() != trace.gradients.size())
    throw InputError(
        "PowerSGD compresses matrices, and nothing says which shape each gradient of this trace has",
        "use workload.model, or a trace whose header names a transformer of 'ddpsim list models' and whose "
        "gradients have its names and sizes")
        .about("comm_hook");
  int iteration = options.iteration == DdpIteration::first ? 0 : 1;
  return options.iteration == DdpIteration::steady || iteration >= start;
}

bool has_initial_buckets(const DdpOptions& options) {
  // static_graph notes the order of arrival in its second iteration only (reducer.cpp: push_rebuilt_params).
  bool before_rebuild = options.iteration == DdpIteration::first ||
                        (options.static_graph && options.iteration == DdpIteration::second);
  return before_rebuild || searches_unused_parameters(options);
}

AssignmentRule ddp_assignment_rule(const DdpOptions& options) {
  // Buckets made when DDP is constructed: over the parameters as registered, reversed to guess the order of
  // the gradients.
  bool initial = has_initial_buckets(options);
  AssignmentRule rule{.limits = bucket_limits(options),
                      .first_cap = first_bucket_follows_cap(options) ? 0u : 1u,
                      .order = initial ? BucketOrder::by_first_tensor : BucketOrder::as_closed,
                      .reverse_buckets = initial || options.set_last_bucket_cap};
  // They serve one iteration only when they will be rebuilt; since 1.12 that one runs without limits. A list
  // of caps is obeyed at once (distributed.py: compute_bucket_size_limits).
  bool rebuilt_later = initial && !searches_unused_parameters(options);
  if (rebuilt_later && options.bucket_caps.empty() && options.torch >= kFirstIterationWhole)
    rule.limits = {kNoLimit};
  return rule;
}

std::vector<std::size_t> ddp_assignment_order(const LayerTrace& trace, const DdpOptions& options,
                                              const std::vector<std::size_t>& unused) {
  // Without find_unused_parameters or static_graph, PyTorch complains one iteration later, in
  // ensure_prior_reduction_finished.
  if (!unused.empty() && !options.find_unused_parameters && !options.static_graph)
    throw InputError(
        fmt::format("the gradient of unused parameter '{}' never arrives, so its bucket is never reduced",
                    trace.gradients[unused.front()].name),
        "set find_unused_parameters, or static_graph if the same parameters are unused in every iteration")
        .about("unused_parameters");
  return has_initial_buckets(options) ? trace.registration_order : rebuilt_order(trace, options, unused);
}

std::vector<NumberedTensor> tensors_of(const LayerTrace& trace, std::span<const std::size_t> gradients) {
  std::vector<NumberedTensor> tensors;
  tensors.reserve(gradients.size());
  for (auto number : gradients) {
    const auto& gradient = trace.gradients[number];
    tensors.push_back({.number = number, .bytes = gradient.bytes(), .dtype = gradient.dtype});
  }
  return tensors;
}

}  // namespace ddpsim
