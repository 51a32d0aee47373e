#pragma once
// How long recorded operators take on a GPU with a software: the law that models' sizes are timed by, on
// their own shapes and bytes (docs/model.md, "Recorded steps").
#include <map>
#include <memory>

#include "sim/compute/compute_law.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {

class OperatorTimes {
 public:
  // `recording` outlives it. Throws InputError where the GPU has no peak for a type that it computes in.
  OperatorTimes(const Recording& recording, const GpuDescription& gpu, const Software& software);

  // The device's: without waiting for the host.
  [[nodiscard]] Seconds of(const RecordedOperator& op) const;
  // What most of its operations are computed in.
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const ComputeLaw& law() const { return laws_.at(precision_); }

 private:
  [[nodiscard]] Precision precision_of(const RecordedOperator& op) const;
  [[nodiscard]] Seconds product(const RecordedOperator& op) const;
  [[nodiscard]] Seconds attention(const RecordedOperator& op) const;

  const Recording& recording_;
  Precision precision_;
  std::map<Precision, ComputeLaw> laws_;
};

// A recorded step as workload.
struct RecordedWork {
  Recordings recordings;
  GpuDescription gpu;
  Software software;
  Precision precision;  // of most operations of the first
  [[nodiscard]] const Recording& first() const { return *recordings.front(); }
};
// By recording every item's time, with what passes wait for the host that launches them.
std::vector<std::shared_ptr<const RecordedStep>> timed(const RecordedWork& work);

}  // namespace ddpsim
