#pragma once
// What a GPU did in a trace of the PyTorch profiler, as timed work of two sorts: kernels that compute, and
// collectives.
#include <optional>
#include <vector>

#include "sim/calibrate/slowdown_fit.hpp"
#include "sim/trace/import/pytorch_profiler/profile.hpp"

namespace ddpsim::calibrate {

struct ProfiledWork {
  std::vector<TimedWork> kernels;      // beside collectives, or not
  std::vector<TimedWork> collectives;  // beside kernels and copies, or not
  Seconds in_flight, waiting;          // of any collective; of that, where all only wait for other ranks
};

// A collective's kernel is in flight from its launch on, although it may only wait for other ranks. With
// `algbw`, what all-reduces reach when none waits, the last of its time that this takes counts; kernels
// beside the rest are disturbed.
ProfiledWork profiled_work(const pytorch_profiler::Profile& profile,
                           std::optional<BytesPerSecond> algbw = std::nullopt);

}  // namespace ddpsim::calibrate
