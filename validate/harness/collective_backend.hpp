#pragma once
// One rank's way to compute and to communicate for real.
//
// A step has two lanes, as in the simulator: compute, which is occupied for a time or waits for
// communication, and communication, on which collectives run one after another in the order of their launch.
// All ranks run the same steps.
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// Elements [first, first + count) of the backend's buffer of float32.
struct Range {
  std::size_t first = 0, count = 0;
  auto operator<=>(const Range&) const = default;
  [[nodiscard]] Bytes bytes() const { return Bytes(4.0 * static_cast<double>(count)); }
};

// When a collective was launched, started and had ended, from the start of its step on this rank's clock; in
// a step that trains, from the start of its last backward pass.
struct CollectiveTimes {
  Seconds launch, start, end;
};

struct StepTimes {
  Seconds total;                             // until both lanes are done
  std::vector<CollectiveTimes> collectives;  // in the order of launch
};

// What a run was measured on and with, in a fixed order: ("processor", "..."), ("gloo", "...").
using Environment = std::vector<std::pair<std::string, std::string>>;

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

  // All ranks enter a step together; its clock starts here.
  virtual void start_step() = 0;
  // Occupies the compute lane for so long after what it was asked before.
  virtual void compute(Seconds duration) = 0;
  // Sums the range over all ranks, in place, once compute has come this far and what was launched before has
  // ended.
  virtual void all_reduce(Range range) = 0;
  // The compute lane waits until every collective launched so far has ended. `waiting_for` is called with the
  // number of each (in this step) before it is waited for.
  using WaitingFor = std::function<void(std::size_t collective)>;
  virtual void wait(const WaitingFor& waiting_for) = 0;
  // Waits for both lanes.
  virtual StepTimes finish_step(const WaitingFor& waiting_for) = 0;
};

}  // namespace ddpsim::validate
