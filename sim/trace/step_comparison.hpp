#pragma once
// A recorded step beside what a profiler saw of the same script: its collectives in order, and its operators.
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/profiled_step.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {

// How often, and how long together.
struct StepCount {
  std::int64_t recorded = 0, profiled = 0;
  Seconds recorded_time = {}, profiled_time = {};
};

struct StepComparison {
  struct Collective {
    ProfiledCollective what;
    StepCount count;
  };
  std::vector<Collective> collectives;  // in the order in which they first come
  std::size_t in_order = 0;             // alike from the first on
  // Behind those; empty where that is the end.
  std::optional<ProfiledCollective> recorded_next, profiled_next;
  bool knows_groups = true;  // the profile says how many ranks each joins

  struct Operators {
    std::string name;  // of a class, or of an operator
    StepCount count;
  };
  std::vector<Operators> classes;
  std::vector<Operators> only_recorded, only_profiled;
  bool has_kernels = false;
  [[nodiscard]] bool has_same_order() const { return !recorded_next && !profiled_next; }
};

// An operator of the profile counts where no recorded one called it: what it calls is part of it. Only in the
// profile is what launches kernels there or, of a profile without a GPU, what is no element-wise kernel.
StepComparison compare_steps(const RecordedStep& recorded, const ProfiledStep& profiled);

}  // namespace ddpsim
