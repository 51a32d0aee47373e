#include "sim/program/step_builder.hpp"

#include <utility>

namespace ddpsim {

std::size_t StepBuilder::compute(Activity activity, std::size_t index, Seconds duration) {
  auto& ops = result_.program.ops;
  Op op;
  op.activity = activity;
  op.index = index;
  op.duration = duration;
  op.after = std::exchange(awaited_, {});
  last_compute_ = ops.size();
  ops.push_back(std::move(op));
  return *last_compute_;
}

std::size_t StepBuilder::fixed(Activity activity, std::size_t index, Seconds duration) {
  auto op = compute(activity, index, duration);
  result_.program.ops[op].is_fixed = true;
  return op;
}

std::size_t StepBuilder::collective(Activity activity, Operation operation, std::size_t index, Bytes bytes) {
  std::vector<std::size_t> after;
  if (last_compute_) after.push_back(*last_compute_);
  return collective(0, activity, operation, index, bytes, std::move(after));
}

std::size_t StepBuilder::collective(std::size_t communicator, Activity activity, Operation operation,
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
  if (!std::exchange(has_communicated_, true)) op.duration += overheads_.first_start;
  ops.push_back(std::move(op));
  return ops.size() - 1;
}

void StepBuilder::pass(Activity activity, std::size_t index, double passes, Bytes moved) {
  if (passes > 0) compute(activity, index, pass_time(passes, moved));
}

Seconds StepBuilder::pass_time(double passes, Bytes moved) const {
  if (passes == 0) return {};
  return passes * (overheads_.pass_launch + moved / *overheads_.pass_bandwidth);
}

}  // namespace ddpsim
