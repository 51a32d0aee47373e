#pragma once
// When what the CPU has put on the GPU by some moment is done: a CUDA event, after the fact.
#include <optional>
#include <vector>

#include "sim/trace/import/pytorch_profiler/profile.hpp"

namespace ddpsim::pytorch_profiler {

// The stream that the kernels that are no collectives keep busy for longest. Its work runs in the order of
// its launch.
class ComputeStream {
 public:
  explicit ComputeStream(const Profile& profile);

  // When an event that the CPU records on the stream at that moment would fire: then, or when the work
  // launched before is done, whichever is later.
  [[nodiscard]] Time event(Time recorded) const;

  // The share of that time in which at least one kernel ran (on any stream); 0 for no time.
  [[nodiscard]] double busy_share(Span time) const;

  // How long the kernels that the CPU launched in that time run, on this stream and on the others.
  struct KernelTimes {
    Time here{}, elsewhere{};
  };
  [[nodiscard]] KernelTimes kernel_times(Span launched) const;

  [[nodiscard]] bool has_kernels() const { return !kernels_.empty(); }
  // False when kernels were recorded but not a single launch: event() then knows nothing of the GPU.
  [[nodiscard]] bool knows_launches() const { return kernels_.empty() || !work_.empty(); }
  [[nodiscard]] std::optional<std::int32_t> device() const { return device_; }

 private:
  struct Work {
    Time launched, all_done;  // all_done: of this and everything launched before
  };
  struct Kernel {
    Time launched, duration;
    bool here = false;
  };
  std::vector<Work> work_;         // in the order of launch
  std::vector<Kernel> by_launch_;  // of every stream, in the order of launch
  std::vector<Span> kernels_;      // disjoint, in order
  std::optional<std::int32_t> device_;
};

}  // namespace ddpsim::pytorch_profiler
