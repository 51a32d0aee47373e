#include "sim/program/fsdp.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

class FsdpBuilder {
 public:
  FsdpBuilder(const LayerTrace& trace, const FsdpPlan& plan, const Overheads& overheads)
      : trace_(trace),
        plan_(plan),
        overheads_(overheads),
        forward_(forward_passes(trace, plan.units)),
        backward_(backward_passes(trace, plan.units)) {
    result_.ready.resize(plan.units.size());
    auto communicators = plan.options.communicators;
    reducing_ = static_cast<std::size_t>(communicators - 1);
    result_.program.communicators = static_cast<std::size_t>(communicators) + (plan.replicas > 1 ? 1 : 0);
  }

  StepProgram take(int accumulation_steps) {
    for (int step = 0; step < accumulation_steps; ++step) {
      is_last_ = step + 1 == accumulation_steps;
      reduces_ = is_last_ || plan_.options.reduce_every_micro_batch;
      index_ = static_cast<std::size_t>(step);
      forward();
      result_.before_last_backward = last_compute_;
      backward();
    }
    std::vector<std::size_t> after;
    for (auto last : {last_reduction_, last_copy_})
      if (last) after.push_back(*last);
    compute(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds()) / plan_.shards, std::move(after));
    return std::move(result_);
  }

 private:
  std::vector<Op>& ops() { return result_.program.ops; }

  std::size_t compute(Activity activity, std::size_t index, Seconds duration,
                      std::vector<std::size_t> after = {}) {
    Op op;
    op.activity = activity;
    op.index = index;
    op.duration = duration;
    op.after = std::move(after);
    ops().push_back(std::move(op));
    last_compute_ = ops().size() - 1;
    return *last_compute_;
  }

  std::size_t collective(std::size_t communicator, Activity activity, Operation operation, std::size_t index,
                         Bytes bytes, std::optional<std::size_t> after) {
    Op op;
    op.kind = Op::Kind::collective;
    op.communicator = communicator;
    op.activity = activity;
    op.index = index;
    op.operation = operation;
    op.bytes = bytes;
    if (after) op.after.push_back(*after);
    if (!has_communicated_) op.duration = overheads_.first_start;
    has_communicated_ = true;
    ops().push_back(std::move(op));
    return ops().size() - 1;
  }

  [[nodiscard]] bool is_fsdp2() const {
    return plan_.strategy == Strategy::fsdp || plan_.strategy == Strategy::hsdp;
  }

  std::size_t gather(std::size_t unit, std::optional<std::size_t> after) {
    return collective(0, Activity::all_gather, Operation::all_gather, unit, plan_.gathered(unit), after);
  }

  [[nodiscard]] Seconds pass(double passes, Bytes moved) const {
    if (passes == 0) return {};
    return passes * (overheads_.pass_launch + moved / *overheads_.pass_bandwidth);
  }

  // A unit's parameters are there: FSDP2 copies them out of the gathered buffer, FSDP1's are views of it.
  std::size_t take_over(std::size_t unit, std::size_t gathered) {
    return compute(Activity::copy_out, unit,
                   is_fsdp2() ? pass(overheads_.passes.out, 2 * plan_.gathered(unit)) : Seconds(),
                   {gathered});
  }

  void forward() {
    auto n = plan_.units.size();
    std::vector<std::optional<std::size_t>> gathers(n), started(n), ended(n);
    bool at_once = !is_fsdp2() && !plan_.options.reshard_after_forward;  // SHARD_GRAD_OP: no limit
    auto begin = last_compute_;                                          // of the micro batch
    auto issue = [&](std::size_t unit) {
      if (unit >= n || gathers[unit]) return;
      auto after = begin;
      if (unit >= 2 && !at_once) after = is_fsdp2() ? started[unit - 2] : ended[unit - 2];
      gathers[unit] = gather(unit, after);
    };
    issue(0);
    issue(1);
    if (at_once)
      for (std::size_t unit = 2; unit < n; ++unit) issue(unit);
    for (const auto& [unit, duration] : forward_) {
      if (!started[unit]) {
        started[unit] = take_over(unit, *gathers[unit]);
        if (is_fsdp2()) issue(unit + 2);
      }
      auto op = compute(Activity::forward, index_, duration);
      if (!ended[unit]) {
        ended[unit] = op;
        if (!is_fsdp2()) issue(unit + 2);
      }
    }
  }

  // The root is gathered still, and so is the last block, whose backward pass comes first.
  [[nodiscard]] bool is_gathered_again(std::size_t unit) const {
    return plan_.options.reshard_after_forward && unit > 0 && (unit + 1 < plan_.units.size() || !is_fsdp2());
  }

  void backward() {
    std::vector<std::optional<std::size_t>> gathers(plan_.units.size());
    bool is_root_begun = false;
    for (std::size_t i = 0; i < backward_.size(); ++i) {
      const auto& [unit, duration] = backward_[i];
      auto issue = [&](std::size_t next) {
        if (next < backward_.size() && is_gathered_again(backward_[next].unit) &&
            !gathers[backward_[next].unit])
          gathers[backward_[next].unit] = gather(backward_[next].unit, last_compute_);
      };
      // Before the first block's comes the head, whose parameters are there.
      if (i == 0) issue(0);
      if (auto gathered = gathers[unit]) take_over(unit, *gathered);
      issue(i + 1);
      auto op = compute(Activity::backward, index_, duration);
      if (unit == 0 && !is_root_begun && backward_.size() > 1) {
        is_root_begun = true;
        continue;  // the embeddings' gradients come last
      }
      if (is_last_) result_.ready[bucket_of(unit)] = op;
      if (reduces_) reduce(unit);
    }
  }

  [[nodiscard]] std::size_t bucket_of(std::size_t unit) const { return plan_.units.size() - 1 - unit; }

  void reduce(std::size_t unit) {
    bool casts = plan_.options.reduce_dtype != plan_.options.param_dtype;
    auto copied = plan_.gathered(unit) + plan_.reduced(unit);
    std::vector<std::size_t> after;
    if (is_fsdp2() && last_reduction_) after.push_back(*last_reduction_);
    if (is_fsdp2() || casts)
      compute(Activity::copy_in, bucket_of(unit), pass(overheads_.passes.in, copied), std::move(after));
    last_reduction_ = collective(reducing_, Activity::reduce_scatter, Operation::reduce_scatter,
                                 bucket_of(unit), plan_.reduced(unit), last_compute_);
    if (plan_.replicas > 1)
      last_copy_ = collective(reducing_ + 1, Activity::all_reduce, Operation::all_reduce, bucket_of(unit),
                              plan_.reduced(unit) / plan_.shards, last_reduction_);
  }

  const LayerTrace& trace_;
  const FsdpPlan& plan_;
  const Overheads& overheads_;
  std::vector<UnitPass> forward_, backward_;
  StepProgram result_;
  std::size_t reducing_ = 0;  // the communicator of reduce-scatters
  std::optional<std::size_t> last_compute_, last_reduction_;
  std::optional<std::size_t> last_copy_;  // to the other groups
  std::size_t index_ = 0;
  bool is_last_ = false, reduces_ = false, has_communicated_ = false;
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
  return {strategy, options, shards, replicas, shard_units(trace, options.units)};
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
