#pragma once
// What a rank is to do in one step, as data: every workload is made of steps, and one runner measures them
// all.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/program.hpp"

namespace ddpsim::validate {

// Elements [first, first + count) of the backend's buffer of float32.
struct Range {
  std::size_t first = 0, count = 0;
  auto operator<=>(const Range&) const = default;
  [[nodiscard]] Bytes bytes() const { return Bytes(4.0 * static_cast<double>(count)); }
  // Of so many equal parts one: a rank's, of what is gathered or scattered.
  [[nodiscard]] Range part(int index, int parts) const {
    auto each = count / static_cast<std::size_t>(parts);
    return {first + static_cast<std::size_t>(index) * each, each};
  }
};

// When a collective was launched, started and had ended, from the start of its step on this rank's clock; in
// a step that trains, from the start of its last backward pass.
struct CollectiveTimes {
  Seconds launch, start, end;
};

// What a run was measured on and with, in a fixed order: ("processor", "..."), ("gloo", "...").
using Environment = std::vector<std::pair<std::string, std::string>>;

// When enough repetitions were measured: no earlier than `least`; then as soon as the 95 % confidence
// interval of the median is within `precision` of it on both sides, or there are `most`, or they took longer
// than `budget`. In rounds: `turn` repetitions of each step, then of the next, so that a machine that drifts
// does it to all of them.
struct Sampling {
  int warm_up = 1;
  int least = 5, most = 30;
  double precision = 0.005;
  Seconds budget{60};
  int turn = 0;  // 0: all repetitions in one turn
};

// How gradients of a model that is trained for real are reduced.
struct Reduction {
  enum class Kind {
    none,     // not at all: what the backward pass takes alone
    naive,    // one all-reduce a parameter, after the backward pass
    flat,     // one all-reduce of all, after it
    overlap,  // one a parameter, when its gradient is complete
    ddp,      // by PyTorch's Reducer
  };
  Kind kind = Kind::ddp;
  std::size_t first_bucket_cap = 0, bucket_cap = 0;  // ddp: bytes
  bool gradient_as_bucket_view = false;
  int accumulation_steps = 1;
};

struct Step {
  std::string name;  // "all-reduce of 1 MiB", "ddp.bucket_cap = 25MiB"
  Program program;   // of a rank that is no straggler; all-reduces, all-gathers and reduce-scatters
  // Where in the buffer these are, in launch order; whole parts for all ranks of what is gathered or
  // scattered.
  std::vector<Range> ranges;
  Sampling sampling;
  // Fill the ranges with values that differ between ranks before the first and after the last repetition, and
  // check what is reduced (against their average) and gathered. Ranges must not overlap, but for those of the
  // same parameters that are gathered twice.
  bool verify = false;
  // Train the job's model instead of waiting; the program then only says which all-reduces are expected.
  std::optional<Reduction> reduction = {};
  // The compute op before the last backward pass; none: the step starts with it.
  std::optional<std::size_t> before_last_backward = {};

  // Adds a collective that waits for those ops.
  void add(Operation operation, Range range, std::vector<std::size_t> after = {});
  // Of the program, in launch order: as many as ranges.
  [[nodiscard]] std::vector<const Op*> collectives() const;
};

// A GPT-2 to be trained, of gpt2_presets() (sim/model/transformer.hpp).
struct TrainedModel {
  std::string name;
  std::int64_t batch = 1, sequence = 64;
};

// All that the ranks of one run do: its steps, in rounds (Sampling).
struct Job {
  std::string backend;              // "gloo"
  std::map<int, double> slowdowns;  // of stragglers: their compute takes so many times as long
  Seconds timeout{60};              // for one collective
  std::vector<Step> steps;
  std::optional<TrainedModel> model = {};  // where steps train
  // Ranks ask for real-time priority, communication above compute: on a testbed, whose links need little of
  // the cores. Over loopback the kernel itself carries packets at a priority below it.
  bool real_time = false;
  int collective_workers = 1;  // how many collectives may be in flight at once

  [[nodiscard]] std::size_t elements()
      const;  // the buffer's, to hold every range of the steps that do not train
};

// One step, measured. Times are the largest over the ranks.
struct StepSamples {
  std::string name;
  std::vector<Seconds> totals;               // one a repetition
  std::vector<CollectiveTimes> collectives;  // medians over the repetitions
  bool settled = false;                      // the precision asked for was reached
  Seconds backward_start = {};               // likewise a median; of a step that trains zero
};

struct RunResult {
  std::string backend;
  int world_size = 0;
  Environment environment;  // of rank 0
  std::vector<StepSamples> steps;
  // The layer trace (docs/reference/traces.md) of the last step that trained without reducing; empty where
  // none did.
  std::string trace = {};
};

}  // namespace ddpsim::validate
