#include "sim/program/step_builder.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {

std::size_t StepBuilder::compute(Activity activity, std::size_t index, Seconds duration) {
  auto& ops = result_.program.ops;
  Op op;
  op.activity = activity;
  op.index = index;
  op.duration = duration;
  op.after = std::exchange(awaited_, {});
  covers_awaited_.reset();
  is_cut_ = false;
  last_compute_ = ops.size();
  ops.push_back(std::move(op));
  return *last_compute_;
}

void StepBuilder::extend(Activity activity, std::size_t index, Seconds duration) {
  if (duration <= Seconds()) return;
  if (last_compute_ && !is_cut_) {
    auto& op = result_.program.ops[*last_compute_];
    if (op.activity == activity && op.index == index) {
      op.duration += duration;
      return;
    }
  }
  compute(activity, index, duration);
}

std::size_t StepBuilder::fixed(Activity activity, std::size_t index, Seconds duration) {
  auto op = compute(activity, index, duration);
  result_.program.ops[op].is_fixed = true;
  return op;
}

void StepBuilder::wait(std::size_t op) {
  if (covers_awaited_ == op) awaited_.clear();
  covers_awaited_.reset();
  awaited_.push_back(op);
  cut();
}

std::vector<std::size_t> StepBuilder::pending() const {
  auto all = awaited_;
  if (last_compute_) all.push_back(*last_compute_);
  return all;
}

std::size_t StepBuilder::launch(std::size_t communicator, Activity activity, Operation operation,
                                std::size_t index, Bytes bytes, std::vector<std::size_t> after,
                                Seconds longer) {
  auto& ops = result_.program.ops;
  Op op;
  op.kind = Op::Kind::collective;
  op.communicator = communicator;
  op.activity = activity;
  op.index = index;
  op.operation = operation;
  op.bytes = bytes;
  op.after = std::move(after);
  op.duration = longer;
  if (!is_pair(operation)) ++launched_;
  if (activity != Activity::broadcast && !std::exchange(has_communicated_, true))
    op.duration += overheads_.first_start;
  ops.push_back(std::move(op));
  cut();
  return ops.size() - 1;
}

std::size_t StepBuilder::collective(Activity activity, Operation operation, std::size_t index, Bytes bytes) {
  std::vector<std::size_t> after;
  if (last_compute_) after.push_back(*last_compute_);
  return launch(first_, activity, operation, index, bytes, std::move(after), {});
}

std::size_t StepBuilder::collective(std::size_t communicator, Activity activity, Operation operation,
                                    std::size_t index, Bytes bytes, std::vector<std::size_t> after,
                                    Seconds longer) {
  return launch(first_ + communicator, activity, operation, index, bytes, std::move(after), longer);
}

std::size_t StepBuilder::collective_in_turn(std::size_t communicator, Activity activity, Operation operation,
                                            std::size_t index, Bytes bytes) {
  auto op = launch(first_ + communicator, activity, operation, index, bytes, pending(), {});
  if (!awaited_.empty()) covers_awaited_ = op;
  return op;
}

std::size_t StepBuilder::exchange(std::size_t communicator, Activity activity, Operation operation,
                                  std::size_t index, Bytes bytes, std::vector<std::size_t> after) {
  return launch(communicator, activity, operation, index, bytes, std::move(after), {});
}

void StepBuilder::pass(Activity activity, std::size_t index, double passes, Bytes moved) {
  if (passes > 0) compute(activity, index, pass_time(passes, moved));
}

Seconds StepBuilder::pass_time(double passes, Bytes moved) const {
  if (passes == 0) return {};
  return passes * (overheads_.pass_launch + moved / *overheads_.pass_bandwidth);
}

void StepBuilder::set_ready(std::size_t bucket) {
  auto& ready = result_.ready;
  if (ready.size() <= bucket) ready.resize(bucket + 1);
  ready[bucket] = last_compute_;
}

StepProgram without_communicators(StepProgram step, const std::vector<bool>& is_alone) {
  auto is_left_out = [&](const Op& op) {
    return op.kind == Op::Kind::collective && is_alone[op.communicator];
  };
  auto& program = step.program;
  std::vector<std::size_t> place;  // of communicators that are left
  std::size_t left = 0;
  for (bool alone : is_alone) place.push_back(alone ? left : left++);
  if (std::ranges::none_of(program.ops, is_left_out)) {
    for (auto& op : program.ops)
      if (op.kind == Op::Kind::collective) op.communicator = place[op.communicator];
    program.communicators = left;
    return step;
  }
  std::vector<Op> ops;
  std::vector<std::vector<std::size_t>> stand_for(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    auto& op = program.ops[i];
    std::vector<std::size_t> after;
    for (auto awaited : op.after)
      for (auto one : stand_for[awaited])
        if (std::ranges::find(after, one) == after.end()) after.push_back(one);
    if (is_left_out(op)) {
      stand_for[i] = std::move(after);
      continue;
    }
    stand_for[i] = {ops.size()};
    op.after = std::move(after);
    if (op.kind == Op::Kind::collective) op.communicator = place[op.communicator];
    ops.push_back(std::move(op));
  }
  for (auto& ready : step.ready)
    if (ready) ready = stand_for[*ready].front();
  if (auto& before = step.before_last_backward) before = stand_for[*before].front();
  program = {left, std::move(ops)};
  return step;
}

}  // namespace ddpsim
