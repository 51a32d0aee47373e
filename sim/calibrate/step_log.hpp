#pragma once
// How long a step takes by the log of the program that trained: Megatron-LM's and DeepSpeed's lines,
// torchtitan's, nanoGPT's and those of Hugging Face's Trainer, recognised by their words, behind whatever a
// launcher puts before them. docs/reference/measured.md has the lines.
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim::calibrate {

// The job that a log is held to.
struct LoggedJob {
  double batch = 0;     // samples of a step, of all GPUs
  double sequence = 0;  // tokens of a sample
  int world_size = 0;
  int tensor = 0, pipeline = 0;  // GPUs that share a layer, stages
};

struct StepLog {
  std::string_view program;      // "Megatron-LM"
  Seconds step;                  // the median of what counts
  Seconds least, most;           // of that
  Seconds lower, upper;          // half of it lies between
  int counted = 0;               // lines
  int warm_up = 0, unusual = 0;  // lines left out: the first ones; of another batch, or without an update
  std::vector<std::string> notes;
  [[nodiscard]] std::string summary() const;  // "Megatron-LM's log: 75.25 s, the median of 2 lines ..."
};

// Left out are the lines less than five iterations after the first one (that line always), but never more
// than half of them. Throws InputError where no line holds a time, a time is none, and, unless `accepts_all`,
// at a figure that contradicts the job.
StepLog read_step_log(const LoadedText& log, const LoggedJob& job, bool accepts_all);

}  // namespace ddpsim::calibrate
