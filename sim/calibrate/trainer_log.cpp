#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/calibrate/step_log_lines.hpp"

namespace ddpsim::calibrate {
namespace {

using Log = std::shared_ptr<const SourceFile>;
using Number = std::optional<LoggedNumber>;

// Of "24/24 [00:01<00:00" the count, of a bar that is done.
Number bar_of(const Log& log, std::size_t line) {
  const auto& text = log->lines[line];
  for (auto slash = text.rfind('/'); slash != std::string::npos && slash > 0;
       slash = text.rfind('/', slash - 1)) {
    auto first = text.find_last_not_of("0123456789", slash - 1) + 1;
    auto end = text.find_first_not_of("0123456789", slash + 1);
    if (end == std::string::npos || end == slash + 1 || first == slash || text.compare(end, 2, " [") != 0)
      continue;
    if (text.substr(first, slash - first) == text.substr(slash + 1, end - slash - 1))
      return number_after(log, line, "/", slash);
  }
  return std::nullopt;
}

}  // namespace

LoggedRun read_trainer_log(const Log& log, const StepSize& /*job*/) {
  LoggedRun run;
  run.is_whole_run = true;
  Number said;
  double inexact = 0;
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    keep_same(said, number_after(log, i, "Total optimization steps ="));
    keep_same(run.facts.batch, number_after(log, i, "(w. parallel, distributed & accumulation) ="));
    auto runtime = figure_after(log, i, "'train_runtime':");
    auto rate = figure_after(log, i, "'train_steps_per_second':");
    if (!runtime || !rate) continue;
    double took = seconds_of(*runtime, 1);
    // As many steps as the digits leave; where they leave several, what the bar has counted.
    auto least = std::ceil((rate->value - rate->half_digit) * (took - runtime->half_digit));
    auto most = std::floor((rate->value + rate->half_digit) * (took + runtime->half_digit));
    Number steps = said;
    if (!steps && least == most && least >= 1) steps = LoggedNumber{least, 0, rate->place};
    for (std::size_t near = i > 2 ? i - 2 : 0; !steps && near < std::min(i + 3, log->lines.size()); ++near)
      if (auto bar = bar_of(log, near); bar && bar->value >= least && bar->value <= most) steps = bar;
    if (!steps) {
      inexact = std::max(inexact, rate->half_digit / rate_of(*rate));
      steps = LoggedNumber{took * rate->value, 0, rate->place};
    }
    if (steps->value < 0.5) continue;
    if (!run.times.empty() && std::abs(took / steps->value / run.times.front().seconds - 1) > 0.2)
      throw InputError(
          runtime->place,
          fmt::format("a second run, of other steps than that in line {}", run.times.front().place.line),
          "keep the lines of one run");
    run.times.push_back({static_cast<std::int64_t>(run.times.size()), took / steps->value, runtime->place});
  }
  if (!run.times.empty())
    run.notes.emplace_back(
        "the Trainer prints the whole run's time: its first steps, evaluations and checkpoints are in it");
  if (inexact > 0.005)
    run.notes.push_back(
        fmt::format("train_steps_per_second has few digits: the step is known to {:.0f} %", 100 * inexact));
  return run;
}

}  // namespace ddpsim::calibrate
