#pragma once
// What the importer keeps of a profiler's trace: compact records of the events that say when gradients were
// ready and what was communicated.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/import/pytorch_profiler/event.hpp"

namespace ddpsim::pytorch_profiler {

struct Span {
  Time start, end;
  [[nodiscard]] bool contains(Time moment) const { return start <= moment && moment < end; }
};

// Where at least one of the spans is: disjoint, in order. Spans that only touch stay apart.
std::vector<Span> united(std::vector<Span> spans);

// How much of the span lies in them; they are disjoint and in order.
Time time_within(const std::vector<Span>& spans, Span span);

// On one thread of the CPU; threads are numbered as they first appear.
struct ThreadSpan : Span {
  std::uint32_t thread = 0;
};

// A step of the profiler's schedule: ProfilerStep#4.
struct ProfilerStep : Span {
  std::string name;
};

inline constexpr std::int64_t kNoSequence = -1;

// An operator recorded for autograd, outside of its nodes.
struct ForwardOperator : ThreadSpan {
  std::int64_t sequence = kNoSequence;  // of the node that it makes, or of the next one
};

// The evaluation of one node of the autograd graph.
struct Node : ThreadSpan {
  bool accumulates = false;  // an AccumulateGrad: its hooks reduce the gradient
  // Which node of the graph: the same pair again is the same node evaluated again.
  std::int64_t forward_thread = 0, sequence = kNoSequence;
};

// torch::autograd::AccumulateGrad: a gradient is complete. With record_shapes its size is known.
struct Accumulation : ThreadSpan {
  std::optional<std::int64_t> elements;
  std::string dtype;  // as PyTorch writes it: "float", "c10::Half"
};

// The call on the CPU that put work on the GPU. Where CUDA's runtime and its driver each recorded one, the
// earlier.
struct Launch {
  std::int64_t correlation = 0;
  Time at;
  std::uint32_t thread = 0, process = 0;
};

// Of a kernel's name and how it was launched (grid, block, shared memory): equal where these are.
using KernelFingerprint = std::uint64_t;

enum class GpuWorkKind : std::uint8_t { kernel, memcpy, memset };

// A kernel that is no collective, a copy or a memset.
struct GpuWork : Span {
  std::int64_t correlation = 0;
  std::int64_t bytes = 0;        // of a copy
  KernelFingerprint kernel = 0;  // of a kernel
  std::int32_t device = 0, stream = 0;
  GpuWorkKind kind = GpuWorkKind::kernel;
};

enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, other };

// What is said about a collective, by its kernel or by the CPU operator that launched it.
struct CollectiveFacts {
  CollectiveKind kind = CollectiveKind::other;
  std::optional<std::int64_t> elements, group_size;
  std::string dtype;
};

struct CollectiveKernel : Span {
  std::int64_t correlation = 0;
  KernelFingerprint kernel = 0;
  std::int32_t device = 0, stream = 0;
  CollectiveFacts facts;
};

struct CollectiveCall : ThreadSpan {
  CollectiveFacts facts;
};

// An operator over a list of tensors (aten::_foreach_add_), with record_shapes: the elements of each.
struct TensorList : ThreadSpan {
  std::vector<std::int64_t> elements;
};

struct Profile {
  // Each in the order of its start; gpu_work and launches in the order of `correlation`.
  std::vector<ProfilerStep> steps;
  std::vector<ThreadSpan> forwards;         // DistributedDataParallel.forward
  std::vector<ThreadSpan> optimizer_steps;  // Optimizer.step#SGD.step
  std::vector<Node> nodes;
  std::vector<ForwardOperator> forward_operators;
  std::vector<Accumulation> accumulations;  // in the order of their end
  std::vector<ThreadSpan> bucket_copies;    // copy_bucket_to_grad: from the bucket back into a gradient
  std::vector<TensorList> tensor_lists;
  std::vector<CollectiveCall> collective_calls;
  std::vector<CollectiveKernel> collective_kernels;
  std::vector<GpuWork> gpu_work;
  std::vector<Launch> launches;
  std::map<std::int64_t, std::string> device_names;
  std::optional<std::int64_t> world_size;
  std::string nccl_version;
};

// The launch of that correlation; null when none was recorded.
const Launch* find_launch(const Profile& profile, std::int64_t correlation);

// Reads the trace at `path`, JSON as it is or gzipped. Throws InputError for what is no such trace, for times
// that are none, and for the traces of several processes or GPUs in one file.
Profile read_profile(const std::string& path, const std::function<void(double)>& progress);

}  // namespace ddpsim::pytorch_profiler
