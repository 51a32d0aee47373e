#pragma once
// A scenario in Python's hands.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/module/readers.hpp"

#include "sim/config/value.hpp"
#include "sim/report/best_caps.hpp"
#include "sim/report/result_json.hpp"
#include "sim/study/best_cap.hpp"
#include "sim/study/next_measurement.hpp"
#include "sim/study/results_file.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/study/study.hpp"
#include "sim/study/sweep_run.hpp"

namespace ddpsim::python {

class Result {
 public:
  Result(Scenario scenario, Simulated simulated, std::vector<Note> notes)
      : scenario_(std::move(scenario)), simulated_(std::move(simulated)), notes_(std::move(notes)) {}
  [[nodiscard]] double iteration_s() const { return simulated_.metrics.iteration.value(); }
  // The iteration is in it with that probability. Throws InputError where nothing says how far it is off.
  [[nodiscard]] Interval interval(double share) const;
  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] std::string timeline_json() const;
  void write_timeline(const std::string& path) const;

 private:
  Scenario scenario_;
  Simulated simulated_;
  std::vector<Note> notes_;
};

// A sweep whose points have been held against one another.
class Compared {
 public:
  Compared(SweepResult result, ScenarioInfo scenario)
      : result_(std::move(result)), scenario_(std::move(scenario)) {}
  [[nodiscard]] std::string to_json() const;
  // Which points the machine did not let end; empty: none.
  [[nodiscard]] std::string lost() const;

 private:
  SweepResult result_;
  ScenarioInfo scenario_;
};

// A scenario that has been parsed. What reading it as one has found out is kept, and shared with jobs made of
// it.
class Job {
 public:
  // `text` is that of a file that messages call `name`; paths in it are relative to the folder of `file`.
  // `overrides` are as --set takes them. Throws InputError.
  Job(const std::string& text, const std::string& name, std::string file,
      const std::vector<std::string>& overrides);
  // The same with more overrides. Both know what either has read.
  [[nodiscard]] Job with(const std::vector<std::string>& overrides) const;

  // With what a file says that the job is launched with, of kind "ds_config", "megatron_args" or
  // "accelerate", where no override says otherwise.
  [[nodiscard]] Job launched(const std::string& kind, const std::string& path) const;
  // The scenario as one line of YAML, and notes of such a file.
  [[nodiscard]] std::string text() const { return config::to_flow_text(root_); }
  [[nodiscard]] std::vector<std::string> launch_notes() const;

  [[nodiscard]] Result simulate() const;
  [[nodiscard]] BestCap best_cap(bool exact) const;
  // The best list of caps; throws InputError where a list does not make the buckets.
  [[nodiscard]] BestCaps best_caps() const;
  [[nodiscard]] std::string key() const;
  // Writes the software that one measured step calibrates, as `ddpsim calibrate --step` does; with --accept.
  void calibrate(double step_s, const std::string& path, bool accepts_all) const;
  // The key that names its software.
  [[nodiscard]] std::string software_key() const;
  // What to measure next, as `ddpsim simulate --explain` lists it.
  [[nodiscard]] Narrowing narrowing() const;
  // A rank's step as text, of the scenario without its sweep.
  [[nodiscard]] std::string program() const;
  // Simulates the points of the sweep section, all together, so that they can be compared.
  [[nodiscard]] Compared compare() const;
  // And writes what `ddpsim sweep --html` does.
  void write_report(const std::string& path) const;

 private:
  friend class Points;
  struct Ran {
    config::Value root;  // without the sweep section
    std::vector<config::SweepAxis> axes;
    SweepResult result;
    ScenarioInfo scenario;
    std::optional<std::string> hint;  // of the first point that the machine did not let end
  };
  Ran run(const std::function<void()>& once_read) const;

  std::string text_, name_, file_;
  std::vector<std::string> overrides_;
  std::vector<Note> launch_notes_;
  config::Value root_;
  std::shared_ptr<Readers> readers_;
};

// The points of a job's sweep section.
class Points {
 public:
  Points(const Job& job, bool all_columns) : study_(job.file_, job.root_, all_columns) {}
  [[nodiscard]] std::size_t size() const { return study_.size(); }
  [[nodiscard]] std::string id() const { return study_.head().study; }
  [[nodiscard]] std::string key(std::size_t point);
  [[nodiscard]] std::string rows(const std::vector<std::size_t>& points, unsigned jobs) const;
  [[nodiscard]] std::vector<std::string> axes() const { return study_.head().axes; }

 private:
  friend class Results;
  Study study_;
};

class Results {
 public:
  Results(const std::string& path, bool resume, const Points& points)
      : file_(path, resume, points.study_.head()), points_(points.size()) {}
  [[nodiscard]] bool has(std::size_t point) const { return point < points_ && file_.has(point); }
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> texts;
    for (const auto& note : file_.notes()) texts.push_back(note.text);
    return texts;
  }
  [[nodiscard]] std::size_t rows() const { return file_.rows(); }
  [[nodiscard]] std::size_t failed() const { return file_.failed(); }
  void append(const std::string& rows) { file_.append(rows); }
  void finish() { file_.finish(); }

 private:
  ResultsFile file_;
  std::size_t points_;
};

}  // namespace ddpsim::python
