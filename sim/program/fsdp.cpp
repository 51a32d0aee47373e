#include "sim/program/fsdp.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "sim/program/bucketed_plan.hpp"
#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

class FsdpBuilder {
 public:
  FsdpBuilder(const LayerTrace& trace, const FsdpPlan& plan, const Overheads& overheads)
      : trace_(trace),
        plan_(plan),
        step_(plan.units.size(), overheads,
              static_cast<std::size_t>(plan.options.communicators) + (plan.replicas > 1 ? 1 : 0)),
        forward_(forward_passes(trace, plan.units)),
        backward_(backward_passes(trace, plan.units)) {
    reducing_ = static_cast<std::size_t>(plan.options.communicators - 1);
  }

  StepProgram take(int accumulation_steps) {
    for (int step = 0; step < accumulation_steps; ++step) {
      is_last_ = step + 1 == accumulation_steps;
      reduces_ = is_last_ || plan_.options.reduce_every_micro_batch;
      index_ = static_cast<std::size_t>(step);
      forward();
      step_.start_last_backward();
      backward();
    }
    for (auto last : last_reductions()) step_.wait(last);
    if (plan_.options.cpu_offload)
      step_.fixed(Activity::optimizer, 0, optimizer());
    else
      step_.compute(Activity::optimizer, 0, optimizer());
    return step_.take();
  }

 private:
  [[nodiscard]] bool is_fsdp2() const {
    return plan_.strategy == Strategy::fsdp || plan_.strategy == Strategy::hsdp;
  }

  [[nodiscard]] Seconds optimizer() const {
    if (!plan_.options.cpu_offload) return trace_.optimizer.value_or(Seconds()) / plan_.shards;
    return plan_.host.adam(static_cast<double>(total_elements(trace_)) / plan_.shards);
  }

  // Of its shard, to the host or from it.
  [[nodiscard]] Seconds offload(std::size_t unit) const {
    if (!plan_.options.cpu_offload) return {};
    Bytes bytes;
    for (auto gradient : plan_.units[unit].gradients) bytes += trace_.gradients[gradient].bytes();
    return plan_.host.copy(bytes / plan_.shards);
  }

  // On either communicator.
  [[nodiscard]] std::vector<std::size_t> last_reductions() const {
    std::vector<std::size_t> ops;
    for (auto last : {last_reduction_, last_copy_})
      if (last) ops.push_back(*last);
    return ops;
  }

  std::size_t gather(std::size_t unit, std::vector<std::size_t> after) {
    return step_.collective(0, Activity::all_gather, Operation::all_gather, unit, plan_.gathered(unit),
                            std::move(after), offload(unit));
  }

  // A unit's parameters are there: FSDP2 copies them out of the gathered buffer, FSDP1's are views of it.
  std::size_t take_over(std::size_t unit, std::size_t gathered) {
    step_.wait(gathered);
    return step_.compute(
        Activity::copy_out, unit,
        is_fsdp2() ? step_.pass_time(step_.passes().out, 2 * plan_.gathered(unit)) : Seconds());
  }

  // What the next gather waits for. FSDP2: a copy out of a gathered buffer of this micro batch, the second to
  // last one in the forward pass, the last one in the backward pass. FSDP1: whatever the host has waited for.
  // The first gather of a micro batch waits for all of the one before.
  std::vector<std::size_t> before_gather(std::size_t copies_behind) {
    auto after = copies_.empty() ? last_reductions() : std::vector<std::size_t>();
    auto last = begin_;
    if (!is_fsdp2())
      last = limit();
    else if (copies_.size() >= copies_behind)
      last = copies_[copies_.size() - copies_behind];
    if (last) after.push_back(*last);
    return after;
  }

  // FSDP1's host waits for the oldest of the units that it has freed where there are two that it has not
  // waited for (_limiter_utils.py).
  std::optional<std::size_t> limit() {
    if (freed_.size() >= 2) {
      begin_ = std::max(begin_, freed_.front());
      freed_.pop_front();
    }
    return begin_;
  }

  void forward() {
    begin_ = step_.last_compute();
    copies_.clear();
    std::vector<bool> is_begun(plan_.units.size());
    for (const auto& [unit, duration] : forward_) {
      if (!is_begun[unit] && !is_kept_) copies_.push_back(take_over(unit, gather(unit, before_gather(2))));
      is_begun[unit] = true;
      auto op = step_.compute(Activity::forward, index_, duration);
      if (unit > 0 && plan_.options.reshard_after_forward) freed_.emplace_back(op);
    }
  }

  // The root is gathered still.
  [[nodiscard]] bool is_gathered_again(std::size_t unit) const {
    bool is_last = unit + 1 == plan_.units.size();
    return plan_.options.reshard_after_forward && unit > 0 &&
           (!is_last || !is_fsdp2() || plan_.options.reshard_last);
  }

  void backward() {
    std::vector<std::optional<std::size_t>> gathers(plan_.units.size());
    if (!is_fsdp2()) limit();  // before the root as well, which is there
    for (std::size_t i = 0; i < backward_.size(); ++i) {
      const auto& [unit, duration] = backward_[i];
      if (auto gathered = gathers[unit]) copies_.push_back(take_over(unit, *gathered));
      if (i + 1 < backward_.size())
        if (auto next = backward_[i + 1].unit; is_gathered_again(next))
          gathers[next] = gather(next, before_gather(1));
      auto op = step_.compute(Activity::backward, index_, duration);
      if (unit == 0 && i == 0 && backward_.size() > 1) continue;  // the embeddings' gradients come last
      freed_.emplace_back(op);
      if (is_last_) step_.set_ready(bucket_of(unit));
      if (reduces_) reduce(unit);
    }
    is_kept_ = !is_fsdp2() && !plan_.options.reshard_after_forward && !reduces_;
  }

  [[nodiscard]] std::size_t bucket_of(std::size_t unit) const { return plan_.units.size() - 1 - unit; }

  void reduce(std::size_t unit) {
    bool casts = plan_.options.reduce_dtype != plan_.options.param_dtype;
    auto copied = plan_.gathered(unit) + plan_.reduced(unit);
    if (is_fsdp2() && last_reduction_) step_.wait(*last_reduction_);
    if (is_fsdp2() || casts)
      step_.compute(Activity::copy_in, bucket_of(unit), step_.pass_time(step_.passes().in, copied));
    last_reduction_ = step_.collective(reducing_, Activity::reduce_scatter, Operation::reduce_scatter,
                                       bucket_of(unit), plan_.reduced(unit), {*step_.last_compute()},
                                       plan_.replicas > 1 ? Seconds() : offload(unit));
    if (plan_.replicas > 1)
      last_copy_ =
          step_.collective(reducing_ + 1, Activity::all_reduce, Operation::all_reduce, bucket_of(unit),
                           plan_.reduced(unit) / plan_.shards, {*last_reduction_}, offload(unit));
  }

  const LayerTrace& trace_;
  const FsdpPlan& plan_;
  StepBuilder step_;
  std::vector<UnitPass> forward_, backward_;
  std::size_t reducing_ = 0;  // the communicator of reduce-scatters
  std::optional<std::size_t> last_reduction_;
  std::optional<std::size_t> last_copy_;  // to the other groups
  std::optional<std::size_t> begin_;      // of a micro batch; FSDP1: or what the host has waited for since
  std::vector<std::size_t> copies_;
  // The four that the step before leaves are over.
  std::deque<std::optional<std::size_t>> freed_ = std::deque<std::optional<std::size_t>>(4);
  bool is_kept_ = false;  // SHARD_GRAD_OP under no_sync: units stay gathered for the next micro batch
  std::size_t index_ = 0;
  bool is_last_ = false, reduces_ = false;
};

Bytes bytes_as(const ShardUnit& unit, DType dtype) {
  return Bytes(static_cast<double>(unit.elements) * bytes_per_element(dtype));
}

}  // namespace

Bytes FsdpPlan::gathered(std::size_t unit) const {
  return bytes_as(units[unit], options.param_dtype);
}

Bytes FsdpPlan::reduced(std::size_t unit) const {
  return bytes_as(units[unit], options.reduce_dtype);
}

FsdpPlan make_fsdp_plan(const LayerTrace& trace, Strategy strategy, const FsdpOptions& options, int shards,
                        int replicas) {
  return {strategy, options, shards, replicas, shard_units(trace, options.units), {}};
}

ReductionPlan reduction_plan(const LayerTrace& trace, const FsdpPlan& plan, int accumulation_steps) {
  ReductionPlan result;
  result.strategy = plan.strategy;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (auto unit = plan.units.rbegin(); unit != plan.units.rend(); ++unit)
    order->insert(order->end(), unit->gradients.begin(), unit->gradients.end());
  std::size_t at = 0;
  for (auto u = plan.units.size(); u-- > 0;) {
    const auto& unit = plan.units[u];
    std::span<const std::size_t> gradients(order->data() + at, unit.gradients.size());
    at += unit.gradients.size();
    Bytes bytes;
    for (auto gradient : gradients) bytes += trace.gradients[gradient].bytes();
    result.buckets.push_back({gradients, bytes, plan.options.reduce_dtype, plan.reduced(u)});
  }
  result.order = std::move(order);
  return result;
}

StepProgram step_program(const LayerTrace& trace, const FsdpPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return FsdpBuilder(trace, plan, overheads).take(accumulation_steps);
}

}  // namespace ddpsim
