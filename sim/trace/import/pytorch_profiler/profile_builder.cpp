#include "sim/trace/import/pytorch_profiler/profile_builder.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

constexpr std::size_t kQuotedName = 80;
constexpr std::string_view kNodePrefix = "autograd::engine::evaluate_function: ";
constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

enum class Category { cpu, launch, kernel, memcpy, memset, other };

// PyTorch 1.8 to 1.10 call them "Operator", "Runtime", "Kernel" ...
Category category_of(std::string_view name) {
  if (name == "cpu_op" || name == "user_annotation" || name == "Operator") return Category::cpu;
  if (name == "cuda_runtime" || name == "cuda_driver" || name == "Runtime") return Category::launch;
  if (name == "kernel" || name == "Kernel") return Category::kernel;
  if (name == "gpu_memcpy" || name == "Memcpy") return Category::memcpy;
  if (name == "gpu_memset" || name == "Memset") return Category::memset;
  return Category::other;
}

std::string quoted_name(const Event& event) {
  return event.name.size() > kQuotedName ? event.name.substr(0, kQuotedName) + "..." : event.name;
}

// The elements of a tensor of that shape; none for what is no shape.
std::optional<std::int64_t> product_of(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (auto length : shape)
    if (length < 0 || __builtin_mul_overflow(product, length, &product)) return std::nullopt;
  return product;
}

CollectiveFacts facts_of(const Event& event, CollectiveKind kind) {
  CollectiveFacts facts{kind, event.elements, event.group_size, event.dtype};
  if (facts.elements || event.shapes.empty() || event.types.empty()) return facts;
  // With record_shapes the operator's first tensor is what it communicates.
  if (event.shapes.front().empty()) return facts;  // a list of tensors
  facts.elements = product_of(event.shapes.front());
  if (!facts.elements) return facts;
  facts.dtype = event.types.front();
  return facts;
}

KernelFingerprint fingerprint_of(const Event& event) {
  return std::hash<std::string>()(
      fmt::format("{}<<<{}, {}>>>", event.name, event.launch_shape, event.shared_memory.value_or(0)));
}

template <class Records, class Before>
void sort_by(Records& records, Before before) {
  std::stable_sort(records.begin(), records.end(),
                   [before](const auto& a, const auto& b) { return before(a) < before(b); });
}

// What it calls; none: it is no collective's.
const std::string* collective_call(const Event& event) {
  if (event.name == "record_param_comms") return &event.collective;
  return event.name.starts_with("c10d::") || event.name.starts_with("nccl:") ? &event.name : nullptr;
}

}  // namespace

void ProfileBuilder::add(const Event& event) {
  switch (category_of(event.category)) {
    case Category::cpu:
      return add_operator(event);
    case Category::launch:
      return add_launch(event);
    case Category::kernel:
      if (auto kind = collective_of_kernel(event.name)) return add_collective_kernel(event, *kind);
      if (!event.collective.empty()) return add_collective_kernel(event, CollectiveKind::other);
      return add_gpu_work(event, GpuWorkKind::kernel);
    case Category::memcpy:
      return add_gpu_work(event, GpuWorkKind::memcpy);
    case Category::memset:
      return add_gpu_work(event, GpuWorkKind::memset);
    case Category::other:
      return;
  }
}

void ProfileBuilder::add_operator(const Event& event) {
  std::string_view name = event.name;
  if (name.starts_with(kNodePrefix) || name == kAccumulateGrad) return add_node(event);
  if (name.starts_with("ProfilerStep#")) {
    profile_.steps.push_back({span(event), event.name});
  } else if (name == "DistributedDataParallel.forward") {
    profile_.forwards.push_back(thread_span(event));
  } else if (name.starts_with("Optimizer.step#")) {
    profile_.optimizer_steps.push_back(thread_span(event));
  } else if (name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_")) {
    add_tensor_list(event);
  } else if (name.ends_with("::copy_bucket_to_grad")) {
    profile_.bucket_copies.push_back(thread_span(event));
  } else if (const auto* call = collective_call(event)) {
    if (auto kind = collective_of_call(*call))
      profile_.collective_calls.push_back({thread_span(event), facts_of(event, *kind)});
  } else if (event.sequence_number && !name.starts_with("torch::autograd::")) {
    profile_.forward_operators.push_back({thread_span(event), *event.sequence_number});
  }
}

void ProfileBuilder::add_node(const Event& event) {
  processes_.insert(event.process);
  if (event.name != kAccumulateGrad) {
    auto node = std::string_view(event.name).substr(kNodePrefix.size());
    profile_.nodes.push_back({thread_span(event), node == kAccumulateGrad, event.forward_thread.value_or(0),
                              event.sequence_number.value_or(kNoSequence)});
    return;
  }
  Accumulation accumulation{thread_span(event), {}, {}};
  if (!event.shapes.empty() && !event.types.empty() && !event.types.front().empty()) {
    auto facts = facts_of(event, CollectiveKind::other);
    // A scalar has no dimensions and one element.
    accumulation.elements = event.shapes.front().empty() ? 1 : facts.elements.value_or(0);
    accumulation.dtype = event.types.front();
  }
  profile_.accumulations.push_back(std::move(accumulation));
}

void ProfileBuilder::add_tensor_list(const Event& event) {
  if (event.first_list.empty()) return;
  TensorList list{thread_span(event), {}};
  for (const auto& shape : event.first_list) list.elements.push_back(product_of(shape).value_or(0));
  profile_.tensor_lists.push_back(std::move(list));
}

void ProfileBuilder::add_launch(const Event& event) {
  // Most calls (cudaEventRecord, cudaStreamIsCapturing ...) put nothing on the GPU.
  if (event.name.find("Launch") == std::string::npos && event.name.find("Mem") == std::string::npos) return;
  if (event.correlation.value_or(0) == 0) return;
  profile_.launches.push_back({*event.correlation, span(event).start, thread(event), process(event)});
}

void ProfileBuilder::add_gpu_work(const Event& event, GpuWorkKind kind) {
  GpuWork work{span(event), event.correlation.value_or(0), event.bytes.value_or(0), 0, 0, 0, kind};
  work.device = small_number(event, "device", event.device, event.process);
  work.stream = small_number(event, "stream", event.stream, event.thread);
  if (kind == GpuWorkKind::kernel) {
    work.kernel = fingerprint_of(event);
    devices_.insert(work.device);
  }
  profile_.gpu_work.push_back(work);
}

void ProfileBuilder::add_collective_kernel(const Event& event, CollectiveKind kind) {
  kind = collective_of_call(event.collective).value_or(kind);
  CollectiveKernel kernel{span(event), event.correlation.value_or(0), fingerprint_of(event), 0,
                          0,           facts_of(event, kind)};
  kernel.device = small_number(event, "device", event.device, event.process);
  kernel.stream = small_number(event, "stream", event.stream, event.thread);
  devices_.insert(kernel.device);
  profile_.collective_kernels.push_back(std::move(kernel));
}

ThreadSpan ProfileBuilder::thread_span(const Event& event) {
  return {span(event), thread(event)};
}

Span ProfileBuilder::span(const Event& event) {
  if (++kept_ > kMostProfileEvents)
    throw text_.error(fmt::format("more than {} events that count for a layer trace", kMostProfileEvents),
                      "profile fewer steps: torch.profiler.schedule(wait=1, warmup=1, active=3)");
  auto time = [&](const std::string& text, std::string_view field) {
    if (text.empty())
      throw text_.error(fmt::format("event '{}' has no \"{}\"", quoted_name(event), field),
                        "a complete event (ph \"X\") has a start \"ts\" and a duration \"dur\" in us");
    auto value = parse_microseconds(text);
    if (!value)
      throw text_.error(fmt::format("event '{}' has \"{}\": '{}', which is no time in us", quoted_name(event),
                                    field, text.substr(0, kQuotedName)),
                        "a number between -3e15 and 3e15 stands there");
    return *value;
  };
  auto start = time(event.start, "ts"), duration = time(event.duration, "dur");
  if (duration < Time::zero())
    throw text_.error(
        fmt::format("event '{}' has a negative duration, {} us", quoted_name(event), event.duration),
        "is the trace damaged? Record it again");
  return {start, start + duration};
}

std::uint32_t ProfileBuilder::thread(const Event& event) {
  auto next = static_cast<std::uint32_t>(threads_.size());
  return threads_.emplace(event.process + "/" + event.thread, next).first->second;
}

std::uint32_t ProfileBuilder::process(const Event& event) {
  auto next = static_cast<std::uint32_t>(launching_processes_.size());
  return launching_processes_.emplace(event.process, next).first->second;
}

std::int32_t ProfileBuilder::small_number(const Event& event, std::string_view what,
                                          std::optional<std::int64_t> argument,
                                          const std::string& field) const {
  std::int64_t value = argument.value_or(-1);
  if (!argument) {
    auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || rest != field.data() + field.size()) value = -1;
  }
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    throw text_.error(fmt::format("event '{}' does not say on which {} it ran", quoted_name(event), what),
                      fmt::format("GPU work has \"{}\" in its args", what));
  return static_cast<std::int32_t>(value);
}

void ProfileBuilder::sort_launches() {
  auto& launches = profile_.launches;
  sort_by(launches, [](const Launch& launch) { return std::pair(launch.correlation, launch.at); });
  auto twice = std::adjacent_find(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
    return a.correlation == b.correlation && a.process != b.process;
  });
  if (twice != launches.end())
    throw text_.file_error(fmt::format("launches of two processes have correlation {}", twice->correlation),
                           "are several ranks' traces merged in it? Import one rank's trace");
  auto rest = std::unique(launches.begin(), launches.end(),
                          [](const Launch& a, const Launch& b) { return a.correlation == b.correlation; });
  launches.erase(rest, launches.end());
}

Profile ProfileBuilder::finish() {
  if (processes_.size() > 1)
    throw text_.file_error(fmt::format("holds backward passes of {} processes ({})", processes_.size(),
                                       fmt::join(processes_, ", ")),
                           "import one rank's trace");
  if (devices_.size() > 1)
    throw text_.file_error(
        fmt::format("holds kernels of {} GPUs ({})", devices_.size(), fmt::join(devices_, ", ")),
        "import the trace of one rank that trains on one GPU");
  auto start = [](const auto& record) { return record.start; };
  auto correlation = [](const auto& record) { return record.correlation; };
  sort_by(profile_.steps, start);
  sort_by(profile_.forwards, start);
  sort_by(profile_.optimizer_steps, start);
  sort_by(profile_.nodes, start);
  sort_by(profile_.forward_operators, start);
  sort_by(profile_.accumulations, [](const auto& record) { return record.end; });
  sort_by(profile_.bucket_copies, start);
  sort_by(profile_.tensor_lists, start);
  sort_by(profile_.collective_calls, start);
  sort_by(profile_.collective_kernels, start);
  sort_by(profile_.gpu_work, correlation);
  sort_launches();
  return std::move(profile_);
}

}  // namespace ddpsim::pytorch_profiler
