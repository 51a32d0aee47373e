#pragma once
// A strategy at work on a part of a model that a rank holds: what it does where, whoever owns the order of
// the passes. One micro-batch after the other, or the schedule of a pipeline; the whole model is one part.
#include "sim/program/step_builder.hpp"

namespace ddpsim {

// Which micro-batch goes through the part.
struct Turn {
  std::size_t micro_batch = 0;
  bool is_first = true, is_last = true;
  // Of the backward pass, how much of the trace's own time it takes: where the inputs' gradients have a pass
  // of their own, that of the weights takes the rest.
  double pace = 1;
  bool may_reduce = true;  // false: what it completes waits for reduce_now()
};

class DataAxis {
 public:
  explicit DataAxis(StepBuilder& step) : step_(step) {}
  DataAxis(const DataAxis&) = delete;
  virtual ~DataAxis() = default;
  // Before the first micro-batch of any part.
  virtual void begin() {}
  virtual void forward(const Turn& turn) = 0;
  // The pass with which gradients of weights come.
  virtual void backward(const Turn& turn) = 0;
  // Whether the ranks of a pipeline start to reduce together, and not each with its own last backward pass.
  [[nodiscard]] virtual bool reduces_together() const { return false; }
  virtual void reduce_now() {}
  // After all backward passes: reductions that nothing hides, and what the optimizer waits for.
  virtual void finish() {}
  // What the optimizer takes; of the host.
  [[nodiscard]] virtual Seconds optimizer() const = 0;
  [[nodiscard]] virtual bool steps_on_host() const { return false; }
  // After the optimizer.
  virtual void update() {}

 protected:
  StepBuilder& step_;
};

// Of a part that no other rank has, or that has no parameters.
class PlainAxis final : public DataAxis {
 public:
  PlainAxis(StepBuilder& step, Seconds forward, Seconds backward, Seconds optimizer)
      : DataAxis(step), forward_(forward), backward_(backward), optimizer_(optimizer) {}
  void forward(const Turn& turn) override { step_.compute(Activity::forward, turn.micro_batch, forward_); }
  void backward(const Turn& turn) override {
    step_.compute(Activity::backward, turn.micro_batch, turn.pace * backward_);
  }
  [[nodiscard]] Seconds optimizer() const override { return optimizer_; }

 private:
  Seconds forward_, backward_, optimizer_;
};

// One micro-batch after the other, and the optimizer.
StepProgram step_of(StepBuilder& step, DataAxis& axis, int micro_batches);

}  // namespace ddpsim
