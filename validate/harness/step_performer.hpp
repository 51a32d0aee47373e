#pragma once
// Carries steps out, on one rank: by waiting where the model would compute, or by training a model.
#include <string>

#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// Every call throws RunFailed, naming this rank, when communication fails or what it reduced is wrong.
class StepPerformer {
 public:
  using WaitingFor = CollectiveBackend::WaitingFor;

  virtual ~StepPerformer() = default;
  // Before the first repetition of a step, and again where other steps came between.
  virtual void prepare(const Step& step) = 0;
  // One repetition, on this rank's clock.
  virtual StepTimes once(const Step& step, const WaitingFor& waiting_for) = 0;
  // One more, whose reduced gradients are compared with the average over the ranks. It takes longer.
  virtual void verify(const Step& step, const WaitingFor& waiting_for) = 0;
  // Throws RunFailed unless all ranks have the same parameters.
  virtual void require_equal() = 0;
};

// Trains the job's model.
class Trainer : public StepPerformer {
 public:
  // The layer trace of the last step without reduction, as text: what each gradient takes on a rank that
  // communicates with nobody.
  virtual std::string trace() = 0;
};

}  // namespace ddpsim::validate
