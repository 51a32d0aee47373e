#include "sim/trace/import/pytorch_profiler/profiled_step.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sim/trace/import/pytorch_profiler/collective_names.hpp"
#include "sim/trace/import/pytorch_profiler/event_reader.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

// Which of a call's tensors is counted: the first or second input, each tensor of the first list, or nothing.
// Of other calls no tensor says what they move.
enum class Counted { first, second, list, nothing };
constexpr std::pair<std::string_view, Counted> kCounted[] = {{"allreduce_", Counted::list},
                                                             {"allreduce_coalesced_", Counted::list},
                                                             {"_allgather_base_", Counted::first},
                                                             {"_reduce_scatter_base_", Counted::second},
                                                             {"alltoall_base_", Counted::second},
                                                             {"broadcast_", Counted::list},
                                                             {"reduce_", Counted::list},
                                                             {"send", Counted::list},
                                                             {"recv_", Counted::list},
                                                             {"barrier", Counted::nothing}};

constexpr std::size_t kMostStepEvents = 5'000'000;

std::int64_t elements_of_shape(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

struct CalledOperator {
  Time start, end;
  std::string thread;
  std::int64_t id = 0;
  ProfiledOperator op;
};
struct LaunchedKernel {
  std::int64_t id = 0;
  Time time;
};
struct LaunchedStep {
  Time start;
  ProfiledCollective what;
};

class StepBuilder {
 public:
  explicit StepBuilder(const CompressedText& text) : text_(text) {}

  void add(const Event& event) {
    if (event.category == "kernel" || event.category == "gpu_memcpy" || event.category == "gpu_memset")
      return add_kernel(event);
    if (event.category != "cpu_op" && event.category != "user_annotation") return;
    if (event.name.starts_with("ProfilerStep#")) {
      auto [start, end] = times(event);
      if (!step_ || start > step_->first) step_ = std::pair(start, end);
    } else if (event.name == "record_param_comms") {
      add_by_name(event);
    } else if (event.name.starts_with("c10d::")) {
      add_by_call(event);
    } else if (event.category == "cpu_op" && event.name.find("::") != std::string::npos &&
               event.name.find("autograd") == std::string::npos) {
      add_operator(event);
    }
  }

  ProfiledStep finish() {
    ProfiledStep step;
    step.has_kernels = !kernels_.empty();
    auto& collectives = by_name_.empty() ? by_call_ : by_name_;
    std::ranges::stable_sort(collectives, {}, &LaunchedStep::start);
    for (auto& one : collectives)
      if (is_within(one.start)) step.collectives.push_back(std::move(one.what));
    bool has_sizes =
        std::ranges::any_of(step.collectives, [](const auto& one) { return one.elements.has_value(); });
    if (!step.collectives.empty() && !has_sizes)
      throw text_.file_error("does not say how large its collectives are",
                             "profile with torch.profiler.profile(record_shapes=True)");
    add_operators(step);
    if (step.operators.empty())
      throw text_.file_error("has no operators", "profile with ProfilerActivity.CPU, too");
    return step;
  }

 private:
  std::pair<Time, Time> times(const Event& event) const {
    auto start = parse_microseconds(event.start), duration = parse_microseconds(event.duration);
    if (!start || !duration)
      throw text_.file_error("has an event without a time: " + event.name, "'ts' and 'dur' are microseconds");
    return {*start, *start + *duration};
  }
  void keep() {
    if (++kept_ > kMostStepEvents)
      throw text_.file_error("has too many events", "profile one step: torch.profiler.schedule(active=1)");
  }

  void add_kernel(const Event& event) {
    if (event.name.starts_with("nccl") || !event.id) return;
    keep();
    auto [start, end] = times(event);
    kernels_.push_back({*event.id, end - start});
  }

  void add_by_name(const Event& event) {
    auto operation = operation_of_call(event.collective);
    if (operation.empty()) return;
    keep();
    LaunchedStep one{times(event).first, {std::string(operation), event.elements, event.group_size}};
    if (operation == "all_gather" && one.what.elements && event.group_size)
      *one.what.elements *= *event.group_size;
    if (operation == "barrier") one.what.elements = 0;
    by_name_.push_back(std::move(one));
  }

  void add_by_call(const Event& event) {
    auto name = std::string_view(event.name).substr(std::string_view("c10d::").size());
    auto operation = operation_of_call(name);
    if (operation.empty()) return;
    keep();
    LaunchedStep one{times(event).first, {std::string(operation), {}, {}}};
    const auto* known = std::ranges::find(kCounted, name, &std::pair<std::string_view, Counted>::first);
    if (known == std::end(kCounted)) return by_call_.push_back(std::move(one));
    auto counted = known->second;
    std::size_t tensor = counted == Counted::second ? 1 : 0;
    if (counted == Counted::nothing)
      one.what.elements = 0;
    else if (counted != Counted::list && event.shapes.size() > tensor)
      one.what.elements = elements_of_shape(event.shapes[tensor]);
    else if (counted == Counted::list && !event.first_list.empty())
      one.what.elements =
          std::accumulate(event.first_list.begin(), event.first_list.end(), std::int64_t{0},
                          [](std::int64_t sum, const auto& shape) { return sum + elements_of_shape(shape); });
    by_call_.push_back(std::move(one));
  }

  void add_operator(const Event& event) {
    keep();
    auto [start, end] = times(event);
    auto name =
        event.name.starts_with("aten::") ? event.name.substr(std::string_view("aten::").size()) : event.name;
    calls_.push_back({start, end, event.thread, event.id.value_or(0), {std::move(name), {}, {}}});
  }

  [[nodiscard]] bool is_within(Time start) const {
    return !step_ || (start >= step_->first && start < step_->second);
  }

  // Who called whom: on a thread, whoever began before and ends later.
  void add_operators(ProfiledStep& step) {
    std::ranges::stable_sort(calls_, [](const CalledOperator& a, const CalledOperator& b) {
      return std::pair(a.start, b.end) < std::pair(b.start, a.end);
    });
    std::map<std::string, std::vector<std::pair<Time, std::size_t>>> open;  // by thread: end, operator
    std::unordered_map<std::int64_t, std::size_t> by_id;
    for (auto& call : calls_) {
      if (!is_within(call.start)) continue;
      auto& stack = open[call.thread];
      while (!stack.empty() && stack.back().first < call.end) stack.pop_back();
      if (!stack.empty()) call.op.within = stack.back().second;
      stack.emplace_back(call.end, step.operators.size());
      by_id.emplace(call.id, step.operators.size());
      step.operators.push_back(std::move(call.op));
    }
    for (const auto& kernel : kernels_)
      if (auto of = by_id.find(kernel.id); of != by_id.end())
        step.operators[of->second].on_gpu += Seconds(std::chrono::duration<double>(kernel.time).count());
  }

  const CompressedText& text_;
  std::optional<std::pair<Time, Time>> step_;
  std::vector<LaunchedStep> by_name_, by_call_;
  std::vector<CalledOperator> calls_;
  std::vector<LaunchedKernel> kernels_;
  std::size_t kept_ = 0;
};

}  // namespace

ProfiledStep read_profiled_step(const std::string& path) {
  CompressedText text(path, "a trace of the PyTorch profiler", {});
  StepBuilder builder(text);
  read_events(text, [&builder](const Event& event) { builder.add(event); });
  return builder.finish();
}

}  // namespace ddpsim::pytorch_profiler
