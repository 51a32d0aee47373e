#include "sim/trace/recorded_step.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// When things happen on the default stream, forward and backward passes each for themselves.
class Passes {
 public:
  explicit Passes(const RecordedStep& step) : recording_(*step.recording), step_(step) {}

  LayerTrace trace() {
    for (std::size_t i = 0; i < recording_.items.size(); ++i) {
      if (const auto* gradient = std::get_if<RecordedGradient>(&recording_.items[i])) {
        came_.insert_or_assign(gradient->parameter, backward_);
        is_behind_gradient_ = true;
      } else if (const auto* op = std::get_if<RecordedOperator>(&recording_.items[i])) {
        add(*op, step_.times[i]);
      } else if (const auto* wait = std::get_if<RecordedWait>(&recording_.items[i])) {
        note_wait(*wait);
      }
    }
    return finished();
  }

 private:
  void add(const RecordedOperator& op, Seconds time) {
    bool is_copied = is_copied_by_ddp(op, std::exchange(is_behind_gradient_, false), has_waited_);
    if (op.stream != 0 || is_copied) return;
    switch (op.phase) {
      case RecordedPhase::forward:
        forward_ += time;
        break;
      case RecordedPhase::recompute:
      case RecordedPhase::backward:
        backward_ += time;
        if (op.module < recording_.modules.size()) modules_[recording_.modules[op.module]] = backward_;
        break;
      case RecordedPhase::optimizer:
        optimizer_ += time;
        break;
    }
  }

  // DistributedDataParallel waits for its all-reduces once its gradients are there.
  void note_wait(const RecordedWait& wait) {
    if (came_.empty() || !recording_.is_of_ddp() || wait.stream != 0) return;
    has_waited_ |= std::ranges::any_of(wait.on, [&](std::size_t item) {
      return std::holds_alternative<LaunchedCollective>(recording_.items[item]);
    });
  }

  Seconds ready(std::size_t parameter) const {
    if (auto came = came_.find(parameter); came != came_.end()) return came->second;
    std::string_view name = recording_.parameters[parameter].name;
    for (auto dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
      name = name.substr(0, dot);
      if (auto module = modules_.find(name); module != modules_.end()) return module->second;
    }
    return backward_;
  }

  LayerTrace finished() {
    LayerTrace trace;
    trace.forward = forward_;
    trace.optimizer = optimizer_;
    std::vector<std::pair<Seconds, std::size_t>> order;  // the later registered come first
    for (std::size_t i = recording_.parameters.size(); i-- > 0;)
      if (recording_.parameters[i].is_trained) order.emplace_back(ready(i), i);
    if (order.empty()) throw InputError("the recording trains no parameter", "is it a step of training?");
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    order.back().first = std::max(order.back().first, backward_);
    std::vector<std::pair<std::size_t, std::size_t>> registered;  // parameter, gradient
    for (const auto& [when, parameter] : order) {
      const auto& one = recording_.parameters[parameter];
      registered.emplace_back(parameter, trace.gradients.size());
      trace.gradients.push_back({.name = SharedText(one.name),
                                 .elements = std::max<std::int64_t>(1, one.elements),  // it may have no shard
                                 .dtype = find_dtype(one.dtype).value_or(DType::float32),
                                 .ready = when,
                                 .ready_spread = {}});
    }
    std::ranges::sort(registered);
    for (const auto& [parameter, gradient] : registered) trace.registration_order.push_back(gradient);
    return trace;
  }

  const Recording& recording_;
  const RecordedStep& step_;
  Seconds forward_, backward_, optimizer_;
  bool is_behind_gradient_ = false, has_waited_ = false;
  std::map<std::size_t, Seconds> came_;                  // by parameter
  std::map<std::string, Seconds, std::less<>> modules_;  // when their last operator ends
};

// Whether every rank has samples of its own: all of them communicate together, and not between the operators
// of a pass, unless DistributedDataParallel is what joins them.
bool is_data_parallel(const Recording& recording) {
  return std::ranges::all_of(recording.items, [&](const auto& item) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    if (!one || one->is_of_cpu || recording.groups[one->group].count == 1) return true;
    if (recording.groups[one->group].count != recording.world_size) return false;
    return recording.is_of_ddp() || one->stream != 0 || one->phase == RecordedPhase::optimizer;
  });
}

}  // namespace

LayerTrace recorded_trace(std::vector<std::shared_ptr<const RecordedStep>> steps) {
  auto trace = Passes(*steps.front()).trace();
  const auto& recording = *steps.front()->recording;
  if (!recording.inputs.empty() && is_data_parallel(recording)) {
    const auto& [shape, dtype] = recording.inputs.front();
    if (!shape.empty() && shape[0] > 0) trace.metadata.batch_size = recording.micro_batches() * shape[0];
    bool has_tokens = shape.size() == 2 && shape[1] > 0 && dtype.starts_with("int");
    if (has_tokens) trace.metadata.sequence_length = shape[1];
  }
  trace.metadata.torch = recording.torch;
  trace.metadata.source = "a recorded script";
  trace.metadata.synthetic = "by the operators of a recorded script";
  trace.steps = std::move(steps);
  return trace;
}

}  // namespace ddpsim
