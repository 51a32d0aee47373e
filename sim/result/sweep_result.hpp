#pragma once
// A finished sweep: its points, and which of them is best.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/odds.hpp"
#include "sim/result/study_row.hpp"

namespace ddpsim {

// A measured iteration that belongs to a point (validation.measured).
struct MeasuredIteration {
  std::optional<std::string> strategy;  // absent: any
  std::optional<int> world_size;        // absent: any
  std::optional<Bytes> bucket_cap;      // absent: any
  Seconds iteration;
  std::optional<Seconds> spread = {};         // standard deviation
  std::optional<Seconds> tail = {};           // exposed communication
  std::optional<Seconds> communication = {};  // in flight, without waiting for other ranks
  std::optional<std::string> run_set = {};    // what was measured together, on one machine and day
};

// predicted / measured - 1: positive where the prediction is too slow.
inline double relative_error(const IterationMetrics& predicted, const MeasuredIteration& measured) {
  return predicted.iteration / measured.iteration - 1;
}

struct SweepPoint {
  std::vector<std::string>
      axis_values;  // as written in the scenario, one an axis: "25MiB", "1024", "overlap"
  IterationMetrics metrics;
  std::optional<MeasuredIteration> measured;
  std::optional<Odds> odds = {};  // among the ways of the same job; none: nothing is in doubt
};

// A point without results: an impossible combination of values, or one that the machine did not let end.
struct FailedPoint {
  std::vector<std::string> axis_values;
  PointFailure who = PointFailure::input;
  std::string error;       // whole, of an input with its place and hint
  std::size_t before = 0;  // the first of the result's points that comes after it

  [[nodiscard]] std::string reason() const;  // the error on one line, without place and hint
  [[nodiscard]] std::string hint() const;    // empty without one
};

// One axis of the sweep and the values it takes, as written.
struct AxisValues {
  std::string key;
  std::vector<std::string> values;
};

// An iteration under PyTorch's default cap, everything else as at a point.
struct WithDefaultCap {
  Bytes cap;
  std::optional<Bytes> first;  // of the first bucket, where that is another one
  Seconds iteration;
  std::optional<Odds> odds = {};  // of it against the best; none: nothing is in doubt, or it is the best
};

// Of a group's clusters and model: what the textbook's formula needs.
struct CapFormula {
  Seconds latency;           // A: of an all-reduce, whatever its size
  BytesPerSecond bandwidth;  // W: what all-reduces take more, by their bytes
  Bytes smallest, largest;   // all-reduces whose times A and W are the line through
  Seconds backward;          // G: of the last backward pass
  Bytes gradients;           // B, as caps count
  double sent = 1;           // of a byte of gradients, by a hook
  Seconds rest;              // what else an iteration computes
  int ranks = 0;

  // min(B sqrt(A / G), A B / (G - B / W), B); the second where the links keep up.
  [[nodiscard]] Bytes queueing() const;
  [[nodiscard]] std::optional<Bytes> keeping_up() const;
  [[nodiscard]] Bytes best() const;
  // rest + max(G b / B + (B / b) a(b), G + a(b)), with a(b) = A + b / W.
  [[nodiscard]] Seconds iteration(Bytes bucket) const;
};

inline constexpr std::string_view kBucketCapAxis = "ddp.bucket_cap";
inline constexpr std::string_view kStrategyAxis = "strategy";
inline constexpr std::string_view kBackendAxis = "collective.backend";
// Of a point on an axis of a section that its strategy does not use.
inline constexpr std::string_view kUnusedValue = "-";

// Points that agree on every axis but one.
struct SweepGroup {
  std::string name;  // what they agree on: "cluster.world_size = 1024, strategy = ddp"; empty for no axis
  std::vector<std::size_t> points;  // in sweep order; never empty
};

// A point is better when it loses less on average over what is in doubt, or, where nothing is, when its
// iteration is shorter; among those that cannot be told apart, and are alike otherwise, PyTorch's default cap
// and strategy, among equals (to 1e-12 relative) the smaller cap, then the earlier point. One that may not
// fit into a GPU's memory is best only where none surely does.
struct SweepResult {
  std::vector<std::string> axes;  // scenario keys: "ddp.bucket_cap"
  std::vector<SweepPoint> points;
  std::vector<MeasuredIteration> measured;  // everything in the measured file
  std::string title;                        // of the plot: the scenario file's name
  std::vector<Note> notes = {};             // each code once
  std::vector<FailedPoint> failed = {};     // not among `points`; in sweep order
  std::size_t draws = 0;                    // that were simulated of each point (--draws)
  bool has_every_assignment = false;        // caps are those where other buckets begin (--exact-optimum)
  std::map<std::size_t, WithDefaultCap> with_default = {};  // of best points of groups, by point
  // Caps of round numbers of MiB that make the buckets of best points of groups, by point.
  std::map<std::size_t, Bytes> round_caps = {};
  std::map<std::size_t, CapFormula> formulas = {};  // likewise (--formula)

  // Index of the best point of all.
  [[nodiscard]] std::size_t best() const;
  // The best were memory no matter.
  [[nodiscard]] std::size_t fastest() const;
  // The best of each group: points that agree on every axis but ddp.bucket_cap. One group where the cap is no
  // axis. In order of the groups' first points.
  [[nodiscard]] std::vector<std::size_t> best_by_group() const;

  // "2 of 9 points could not be ...", a line for whoever reads the results; empty when all could.
  [[nodiscard]] std::string failed_note() const;
  // "VALUES: REASON: HINT" of the first few points without results whose reasons differ.
  [[nodiscard]] std::vector<std::string> failed_reasons() const;

  // synthetic_note() of the points.
  [[nodiscard]] std::string trace_note() const;

  // Which world size or workload is shorter is no advice: those are given, the rest is chosen.
  static bool is_given(std::string_view axis);
  // By axis: given, or its values do different amounts of work in an iteration, which is no choice either, or
  // they are backends on links without hosts, where Gloo's costs are missing.
  [[nodiscard]] std::vector<bool> given_axes() const;
  [[nodiscard]] bool is_without_hosts(std::string_view axis) const;
  [[nodiscard]] bool changes_work(std::size_t axis) const;
  [[nodiscard]] bool compares_choices() const;  // no axis is given

  // Whether iterations of some point differ.
  [[nodiscard]] bool varies() const;

  [[nodiscard]] std::optional<std::size_t> find_axis(std::string_view key) const;
  // Groups along the axis `free`, in order of their first points; everything is one group without such an
  // axis.
  [[nodiscard]] std::vector<SweepGroup> groups(std::optional<std::size_t> free) const;
  // The best of some points; `candidates` is not empty.
  [[nodiscard]] std::size_t best_of(const std::vector<std::size_t>& candidates) const;
};

}  // namespace ddpsim
