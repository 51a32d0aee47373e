#include "python/module/job.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/core.h>

#include "sim/base/input_log.hpp"
#include "sim/base/output_file.hpp"
#include "sim/config/overrides.hpp"
#include "sim/engine/written_programs.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/report/chrome_timeline.hpp"
#include "sim/resolve/launched_job.hpp"
#include "sim/resolve/unused_keys.hpp"
#include "sim/result/measured_iterations.hpp"
#include "sim/study/best_caps.hpp"
#include "sim/study/calibrated_software.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/what_if.hpp"

namespace ddpsim::python {

Interval Result::interval(double share) const {
  if (!(share > 0 && share < 1))
    throw InputError(fmt::format("an interval of {} holds nothing, or everything", share),
                     "a share between 0 and 1, such as 0.8");
  const auto& sure = simulated_.metrics.uncertainty;
  if (!sure)
    throw InputError("nothing says how far this iteration is off, so it has no interval",
                     "leave out 'evidence: none', or name an evidence file");
  return sure->interval(share);
}

std::string Result::to_json() const {
  return simulate_json(shown_metrics(scenario_, simulated_.metrics), tool_info(), {}, notes_);
}

std::string Result::timeline_json() const {
  return chrome_timeline_json(simulated_.prediction.timeline, context_of(scenario_));
}

void Result::write_timeline(const std::string& path) const {
  check_writable(path, "timeline");
  write_whole_file(path, timeline_json());
}

Job::Job(const std::string& text, const std::string& name, std::string file,
         const std::vector<std::string>& overrides)
    : text_(text),
      name_(name),
      file_(std::move(file)),
      overrides_(overrides),
      root_(config::parse_yaml({make_source(name, text), text}, "a scenario")),
      readers_(std::make_shared<Readers>(file_)) {
  for (const auto& assignment : overrides) config::apply_override(root_, assignment);
}

Job Job::with(const std::vector<std::string>& overrides) const {
  auto job = *this;
  for (const auto& assignment : overrides) config::apply_override(job.root_, assignment);
  job.overrides_.insert(job.overrides_.end(), overrides.begin(), overrides.end());
  return job;
}

Job Job::launched(const std::string& kind, const std::string& path) const {
  auto which = kind == "ds_config"       ? LaunchKind::ds_config
               : kind == "megatron_args" ? LaunchKind::megatron_args
                                         : LaunchKind::accelerate;
  auto job = *this;
  job.launch_notes_ = apply_to_job(job.root_, {which, path}, true, file_).notes;
  job.readers_ = std::make_shared<Readers>(file_);
  return job;
}

std::vector<std::string> Job::launch_notes() const {
  std::vector<std::string> texts;
  for (const auto& note : launch_notes_) texts.push_back(note.text);
  return texts;
}

std::string Job::program() const {
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  return readers_->with(
      [&](Files& files, Simulator&) { return write_program(written_program(resolve(files, root))); });
}

Result Job::simulate() const {
  auto root = root_;
  auto axes = config::take_sweep_axes(root, kMostStudyPoints);
  return readers_->with([&](Files& files, Simulator& simulator) {
    auto scenario = resolve(files, root);
    if (axes.empty()) refuse_unused_keys(scenario);
    auto notes = notes_before(scenario, axes);
    auto simulated = simulate_once(scenario, std::ref(simulator));
    if (auto note = memory_note(simulated.metrics)) notes.push_back(*std::move(note));
    if (const auto& path = scenario.validation.measured)
      for (auto& note : unmatched_notes(read_measured_iterations(*path), {&simulated.metrics, 1}))
        notes.push_back(std::move(note));
    return Result(std::move(scenario), std::move(simulated), std::move(notes));
  });
}

BestCap Job::best_cap(bool exact) const {
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  return readers_->with(
      [&](Files& files, Simulator&) { return ddpsim::best_cap(root, files, exact, all_cores()); });
}

BestCaps Job::best_caps() const {
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  auto scenario = readers_->with([&](Files& files, Simulator&) { return resolve(files, root); });
  check_best_caps(scenario);
  return ddpsim::best_caps(scenario, all_cores());
}

void Job::calibrate(double step_s, const std::string& path, bool accepts_all) const {
  if (!(step_s > 0 && std::isfinite(step_s)))
    throw InputError(fmt::format("no step takes {} s", step_s), "say how many seconds one took: step=1.42");
  check_writable(path, "software");
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  auto scenario = readers_->with([&](Files& files, Simulator&) { return resolve(files, root); });
  auto text =
      calibrated_software(scenario, name_, {.measured = Seconds(step_s), .accepts_all = accepts_all}).text;
  write_whole_file(path, text);
}

std::string Job::software_key() const {
  return config::find_at(root_, "workload.compute") ? "workload.compute" : "workload.framework";
}

Narrowing Job::narrowing() const {
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  WhatIf what_if(file_, root);
  auto scenario = what_if.scenario();
  return narrowing_of(name_, what_if, scenario, simulate_once(scenario).metrics);
}

std::string Job::key() const {
  auto root = root_;
  config::take_sweep_axes(root, kMostStudyPoints);
  return JobKeys(file_).key(root);
}

Job::Ran Job::run(const std::function<void()>& once_read) const {
  Ran ran;
  ran.root = root_;
  ran.axes = config::take_sweep_axes(ran.root);
  if (ran.axes.empty())
    throw InputError("there is nothing to sweep",
                     "name an axis: {\"ddp.bucket_cap\": [\"1MiB\", \"25MiB\"]}");
  Files files(file_);
  auto plan = plan_possible(ran.root, ran.axes, files);
  once_read();
  ran.result = begin_sweep(plan, name_);
  ran.hint = run_sweep(plan, all_cores(), ran.result);
  add_default_caps(ran.result, file_, ran.root, ran.axes, all_cores());
  auto unmatched = unmatched_notes(ran.result);
  ran.result.notes.insert(ran.result.notes.end(), unmatched.begin(), unmatched.end());
  ran.scenario = {name_, overrides_, plan.axes};
  return ran;
}

Compared Job::compare() const {
  auto ran = run([] {});
  return {std::move(ran.result), std::move(ran.scenario)};
}

std::string Compared::lost() const {
  bool is_any = std::ranges::any_of(
      result_.failed, [](const FailedPoint& point) { return point.who == PointFailure::machine; });
  return is_any ? lost_text(result_) : "";
}

std::string Compared::to_json() const {
  return sweep_json(result_, scenario_, tool_info());
}

void Job::write_report(const std::string& path) const {
  check_writable(path, "report");
  InputLog inputs;
  inputs.add(name_, text_);
  auto ran = run([&] { check_writable(path, "report"); });
  auto page = sweep_page(ran.result, ran.scenario, {"--html", path}, file_, ran.root, ran.axes, inputs);
  write_whole_file(path, page);
  if (ran.hint) fail_lost(ran.result, *ran.hint);
}

std::string Points::key(std::size_t point) {
  if (point >= size())
    throw InputError(fmt::format("the sweep has {} points, and no point {}", size(), point));
  return study_.key(point);
}

std::string Points::rows(const std::vector<std::size_t>& points, unsigned jobs) const {
  if (!points.empty() && points.back() >= size())
    throw InputError(fmt::format("the sweep has {} points, and no point {}", size(), points.back()));
  std::string rows;
  study_.run(points, jobs, [&](std::size_t, const std::string& row) { rows += row; });
  return rows;
}

}  // namespace ddpsim::python
