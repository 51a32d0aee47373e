#pragma once
// A sweep from its plan to its result, and to its page.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/input_log.hpp"
#include "sim/result/run_info.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim {

// Without points yet: axes, what was measured, and what is known of it before anything runs; `more` notes
// come first.
SweepResult begin_sweep(const SweepPlan& plan, const std::string& title, const std::vector<Note>& more = {});

// Simulates the plan's points in order, each handed over as it is added; those with the buckets of another
// one take its times. Points without results, those that the plan refused among them, are in `result.failed`.
// Returns the hint of the first that the machine did not let end. Throws when no point has a result.
struct OnSweepPoint {
  std::function<void(const SweepPoint& point)> point = [](const SweepPoint&) {};
  std::function<void(const FailedPoint& point)> failed = [](const FailedPoint&) {};
};
std::optional<std::string> run_sweep(const SweepPlan& plan, unsigned jobs, SweepResult& result,
                                     const OnSweepPoint& on_point = {});

// Measured iterations that are at none of the points.
std::vector<Note> unmatched_notes(const SweepResult& result);

// Simulates the best point of each of the first groups under PyTorch's default cap too: what keeping that
// would cost. `root` is the scenario without its sweep section, `axes` what that said, `path` its file.
void add_default_caps(SweepResult& result, const std::string& path, const config::Value& root,
                      const std::vector<config::SweepAxis>& axes, unsigned jobs);

// Throws InputError where the textbook's formula says nothing: no caps, or other strategies.
void check_formulas(const SweepPlan& plan, const SourceSpan& place);
// It, for each group. Throws InputError where all-reduces have no bandwidth.
void add_formulas(SweepResult& result, const std::string& path, const config::Value& root,
                  const std::vector<config::SweepAxis>& axes);

// Which points the machine did not let end, and why.
std::string lost_text(const SweepResult& result);
// As an EnvironmentError.
[[noreturn]] void fail_lost(const SweepResult& result, const std::string& hint);

// The page of a sweep that has run (sweep_html.hpp): its best point is simulated again, and changed in many
// ways; `options` are the command's.
std::string sweep_page(const SweepResult& result, const ScenarioInfo& scenario,
                       const std::vector<std::string>& options, const std::string& path, config::Value root,
                       const std::vector<config::SweepAxis>& axes, const InputLog& inputs);

}  // namespace ddpsim
