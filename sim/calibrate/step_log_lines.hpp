#pragma once
// What the lines of training programs say: times of steps, and what was trained.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/calibrate/logged_number.hpp"

namespace ddpsim::calibrate {

struct LoggedTime {
  std::int64_t iteration = 0;
  double seconds = 0;
  SourceSpan place;
  std::optional<LoggedNumber> batch = {};  // where the line says it
  bool has_update = true;                  // false: the optimizer skipped an iteration in it
};

// What a log says of its job; none: it does not.
struct LoggedFacts {
  std::optional<LoggedNumber> batch, sequence, world_size, tokens, tensor, pipeline;  // the last of a step
};

struct LoggedRun {
  std::vector<LoggedTime> times;  // in the order of the log, each iteration once
  LoggedFacts facts;
  bool is_whole_run = false;  // each time is a mean of all of a run's iterations
  std::vector<std::string> notes = {};
};

// For rates: what the job's step has, where the log does not say it.
struct StepSize {
  double batch = 0, sequence = 0;
  int world_size = 0;
};

struct TrainingProgram {
  std::string_view name;
  LoggedRun (*read)(const std::shared_ptr<const SourceFile>& log, const StepSize& job);
  std::vector<std::string_view> marks;  // what a log of it holds, with times or without
  std::string_view what_to_print;       // where it holds none
};

// In the order in which they count where a log is of several, as Megatron-LM's under DeepSpeed.
const std::vector<TrainingProgram>& training_programs();

// Adds times of iterations that no earlier line is of: other ranks print the same.
class IterationTimes {
 public:
  explicit IterationTimes(LoggedRun& run) : run_(run) {}
  void add(LoggedTime time) {
    if (seen_.insert(time.iteration).second) run_.times.push_back(std::move(time));
  }

 private:
  LoggedRun& run_;
  std::set<std::int64_t> seen_;
};

// Each throws InputError at a figure that is none.
LoggedRun read_megatron_log(const std::shared_ptr<const SourceFile>& log, const StepSize& job);
LoggedRun read_deepspeed_log(const std::shared_ptr<const SourceFile>& log, const StepSize& job);
LoggedRun read_torchtitan_log(const std::shared_ptr<const SourceFile>& log, const StepSize& job);
LoggedRun read_nanogpt_log(const std::shared_ptr<const SourceFile>& log, const StepSize& job);
LoggedRun read_trainer_log(const std::shared_ptr<const SourceFile>& log, const StepSize& job);

}  // namespace ddpsim::calibrate
