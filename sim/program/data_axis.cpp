#include "sim/program/data_axis.hpp"

namespace ddpsim {

StepProgram step_of(StepBuilder& step, DataAxis& axis, int micro_batches) {
  axis.begin();
  for (int i = 0; i < micro_batches; ++i) {
    Turn turn{static_cast<std::size_t>(i), i == 0, i + 1 == micro_batches};
    axis.forward(turn);
    axis.backward(turn);
  }
  axis.finish();
  if (axis.steps_on_host())
    step.fixed(Activity::optimizer, 0, axis.optimizer());
  else
    step.compute(Activity::optimizer, 0, axis.optimizer());
  axis.update();
  return step.take();
}

}  // namespace ddpsim
