#include "sim/program/single_process.hpp"

#include <algorithm>
#include <map>

#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

constexpr Bytes kPiece(10485760);  // comm.py: buffer_size

using Pieces = std::vector<std::vector<std::size_t>>;

Bytes bytes_of(const LayerTrace& trace, const std::vector<std::size_t>& piece) {
  Bytes bytes;
  for (auto gradient : piece) bytes += trace.gradients[gradient].bytes();
  return bytes;
}

// In the order of registration, each dtype by itself; what is left at the end comes last.
template <class IsFull>
Pieces pieces_of(const LayerTrace& trace, const IsFull& closes_before, bool closes_when_reached) {
  Pieces pieces;
  std::map<DType, std::vector<std::size_t>> open;
  auto close = [&](std::vector<std::size_t>& piece) { pieces.push_back(std::exchange(piece, {})); };
  for (auto gradient : trace.registration_order) {
    auto& piece = open[trace.gradients[gradient].dtype];
    if (!piece.empty() && closes_before(bytes_of(trace, piece), trace.gradients[gradient].bytes()))
      close(piece);
    piece.push_back(gradient);
    if (closes_when_reached && bytes_of(trace, piece) >= kPiece) close(piece);
  }
  for (auto& [dtype, piece] : open)
    if (!piece.empty()) close(piece);
  return pieces;
}

class SingleProcessBuilder {
 public:
  SingleProcessBuilder(const LayerTrace& trace, const SingleProcessPlan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), step_(plan.reductions.size(), overheads) {}

  StepProgram take(int accumulation_steps) {
    for (int i = 0; i < accumulation_steps; ++i) {
      index_ = static_cast<std::size_t>(i);
      forward();
      if (i + 1 == accumulation_steps) step_.start_last_backward();
      backward(i + 1 == accumulation_steps);
    }
    only_first(step_.compute(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds())));
    auto program = step_.take();
    program.others = program.program;
    for (auto op : of_first_) program.others->ops[op].duration = Seconds();
    return program;
  }

 private:
  void only_first(std::size_t op) { of_first_.push_back(op); }

  void forward() {
    if (plan_.scatter > Seconds()) step_.fixed(Activity::host_copy, index_, plan_.scatter);
    for (auto bytes : trace_.buffers) replicate(trace_.gradients.size(), bytes);
    for (std::size_t i = 0; i < plan_.broadcasts.size(); ++i) {
      auto bytes = bytes_of(trace_, plan_.broadcasts[i]);
      step_.pass(Activity::copy_in, i, step_.passes().in, 2 * bytes);
      replicate(i, bytes);
    }
    auto duration = trace_.forward.value_or(Seconds());
    step_.compute(Activity::forward, index_, duration);
    if (auto host = plan_.replicas * plan_.options.host_forward; host > duration)
      step_.compute(Activity::launch, index_, host - duration);
    if (plan_.gather > Seconds()) only_first(step_.fixed(Activity::peer_copy, index_, plan_.gather));
    if (auto others = (plan_.replicas - 1) * plan_.options.loss; others > Seconds())
      only_first(step_.compute(Activity::forward, index_, others));
  }

  void replicate(std::size_t index, Bytes bytes) {
    step_.wait(step_.collective(Activity::replicate, Operation::broadcast, index, bytes));
  }

  void backward(bool is_last) {
    if (plan_.gather > Seconds()) only_first(step_.fixed(Activity::peer_copy, index_, plan_.gather));
    step_.compute(Activity::backward, index_, trace_.backward());
    std::vector<std::size_t> reductions;
    for (std::size_t i = 0; i < plan_.reductions.size(); ++i) {
      if (is_last) step_.set_ready(i);
      auto bytes = bytes_of(trace_, plan_.reductions[i]);
      step_.pass(Activity::copy_in, i, step_.passes().in, 2 * bytes);
      reductions.push_back(step_.collective(Activity::reduce, Operation::reduce, i, bytes));
    }
    for (auto op : reductions) step_.wait(op);
  }

  const LayerTrace& trace_;
  const SingleProcessPlan& plan_;
  StepBuilder step_;
  std::vector<std::size_t> of_first_;  // ops that GPU 0 alone carries out
  std::size_t index_ = 0;
};

}  // namespace

SingleProcessPlan make_single_process_plan(const LayerTrace& trace, const SingleProcessOptions& options,
                                           int replicas) {
  SingleProcessPlan plan;
  plan.options = options;
  plan.replicas = replicas;
  plan.broadcasts = pieces_of(
      trace, [](Bytes, Bytes) { return false; }, true);
  plan.reductions = pieces_of(
      trace, [](Bytes open, Bytes next) { return open + next > kPiece; }, false);
  return plan;
}

ReductionPlan reduction_plan(const LayerTrace& trace, const SingleProcessPlan& plan, int accumulation_steps) {
  ReductionPlan result;
  result.strategy = Strategy::data_parallel;
  result.launch = LaunchRule::after_backward;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (const auto& piece : plan.reductions) order->insert(order->end(), piece.begin(), piece.end());
  std::size_t at = 0;
  for (const auto& piece : plan.reductions) {
    std::span<const std::size_t> gradients(order->data() + at, piece.size());
    at += piece.size();
    result.buckets.push_back({gradients, bytes_of(trace, piece), trace.gradients[piece.front()].dtype});
  }
  result.order = std::move(order);
  return result;
}

StepProgram step_program(const LayerTrace& trace, const SingleProcessPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return SingleProcessBuilder(trace, plan, overheads).take(accumulation_steps);
}

}  // namespace ddpsim
