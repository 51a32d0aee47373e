#pragma once
// What an imported trace tells about itself: notes in its header, remarks for the user.
#include <span>
#include <string>
#include <vector>

#include "sim/trace/import/pytorch_profiler/compute_stream.hpp"
#include "sim/trace/import/pytorch_profiler/gradients.hpp"
#include "sim/trace/import/pytorch_profiler/step_times.hpp"

namespace ddpsim::pytorch_profiler {

struct ImportFacts {
  std::string path;
  const LayerTrace& trace;
  const Profile& profile;
  const ComputeStream& stream;
  const MeasuredSteps& measured;
  const std::vector<StepTimes>& times;
  Statistic statistic;
  std::optional<std::int64_t> group_size;
};

// Comment lines for the trace's header.
std::vector<std::string> notes(const ImportFacts& facts);

// Sentences for the user: where the trace says less than it seems to.
std::vector<std::string> warnings(const ImportFacts& facts);

}  // namespace ddpsim::pytorch_profiler
