#pragma once
// One rank's way to compute and to communicate for real.
//
// A step has two lanes, as in the simulator: compute, on which ops occupy it for a time, and communication,
// on which collectives run one after another in the order of their launch. All ranks run the same steps.
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "validate/harness/step.hpp"

namespace ddpsim::validate {

struct StepTimes {
  Seconds total;                             // until both lanes are done
  std::vector<CollectiveTimes> collectives;  // in the order of launch
  Seconds backward_start = {};               // Step::before_last_backward had ended
};

// Every call throws RunFailed, naming this rank, when the library or another rank fails or a time-out
// expires.
class CollectiveBackend {
 public:
  virtual ~CollectiveBackend() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "gloo"
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  [[nodiscard]] virtual Environment environment() const = 0;

  // The largest of all ranks' values, element by element.
  [[nodiscard]] virtual std::vector<double> maximum(const std::vector<double>& values) = 0;

  // The buffer, all zero; called once, before any of the following.
  virtual void allocate(std::size_t elements) = 0;
  virtual void write(std::size_t first, std::span<const float> values) = 0;
  [[nodiscard]] virtual std::vector<float> read(Range range) = 0;
  virtual void broadcast(Range range) = 0;  // rank 0's elements, everywhere when it returns

  // Carries the step's program out, once: all ranks enter together, and the clock starts. A compute op starts
  // when the one before and what it waits for have ended, and takes `slowdown` times as long as it says; a
  // collective is launched when those before it are and what it waits for has ended. All-reduces sum their
  // range over all ranks, in place; of reduce-scatters and all-gathers each rank owns its part of the range.
  // `waiting_for` is called with the number of a collective (in this step) before it is waited for.
  using WaitingFor = std::function<void(std::size_t collective)>;
  virtual StepTimes perform(const Step& step, double slowdown, const WaitingFor& waiting_for) = 0;
};

}  // namespace ddpsim::validate
