#include <chrono>

#include "sim/calibrate/step_log_lines.hpp"

namespace ddpsim::calibrate {
namespace {

using Log = std::shared_ptr<const SourceFile>;
using Number = std::optional<LoggedNumber>;

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Days, hours and so on of "2025-11-25 19:44:58,837" as seconds.
std::optional<double> time_stamp(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd,ddd";
  for (std::size_t at = 0; at + kShape.size() <= text.size(); ++at) {
    bool fits = true;
    for (std::size_t c = 0; fits && c < kShape.size(); ++c)
      fits = kShape[c] == 'd' ? text[at + c] >= '0' && text[at + c] <= '9' : text[at + c] == kShape[c];
    if (!fits) continue;
    auto part = [&](std::size_t first, std::size_t length) {
      int value = 0;
      for (char c : text.substr(at + first, length)) value = 10 * value + (c - '0');
      return value;
    };
    using namespace std::chrono;
    sys_days day{year(part(0, 4)) / month(static_cast<unsigned>(part(5, 2))) /
                 std::chrono::day(static_cast<unsigned>(part(8, 2)))};
    return 86400.0 * static_cast<double>(day.time_since_epoch().count()) + 3600.0 * part(11, 2) +
           60.0 * part(14, 2) + part(17, 2) + 1e-3 * part(20, 3);
  }
  return std::nullopt;
}

// Of "['pp', 'tp'], [2, 4]" and "pp=2, dp_replicate=1, dp_shard=8, cp=1, tp=4, ep=2" all ranks.
Number ranks_of_mesh(const Log& log, std::size_t line) {
  const auto& text = log->lines[line];
  double ranks = 1;
  SourceSpan place;
  if (holds(text, "device mesh with parallelism:")) {
    for (std::string_view axis : {" pp=", "dp_replicate=", "dp_shard=", " cp=", " tp="})
      if (auto degree = number_after(log, line, axis)) {
        ranks *= degree->value;
        place = degree->place;
      }
  } else if (auto list = text.rfind('['); holds(text, "-D device mesh with [") && list != std::string::npos) {
    for (auto at = list; at != std::string::npos && text[at] != ']'; at = text.find_first_of(",]", at + 1))
      if (auto degree = number_after(log, line, text.substr(at, 1), at)) {
        ranks *= degree->value;
        place = degree->place;
      }
  }
  if (place.line == 0 || ranks < 1) return std::nullopt;
  return LoggedNumber{ranks, 0, place};
}

}  // namespace

LoggedRun read_torchtitan_log(const Log& log, const StepSize& job) {
  struct Line {
    LoggedNumber step, rate;
    std::optional<double> stamp;
  };
  LoggedRun run;
  std::vector<Line> lines;
  std::set<double> seen;
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    const auto& text = log->lines[i];
    keep_same(run.facts.world_size, ranks_of_mesh(log, i));
    if (holds(text, "local batch size ") && holds(text, "global batch size ")) {
      keep_same(run.facts.batch, number_after(log, i, "global batch size "));
      keep_same(run.facts.sequence, number_after(log, i, "sequence length "));
    }
    auto step = text.find("step:");
    if (step == std::string::npos || holds(text, "validate") || !holds(text, "loss:")) continue;
    auto rate = number_after(log, i, "tps:", step);
    if (!rate) rate = number_after(log, i, "wps:", step);
    auto number = number_after(log, i, "step:");
    if (rate && number && seen.insert(number->value).second)
      lines.push_back({*number, *rate, time_stamp(text)});
  }
  IterationTimes times(run);
  const auto& facts = run.facts;
  double ranks = facts.world_size ? facts.world_size->value : job.world_size;
  if (facts.batch && facts.sequence) {
    // tokens per second and device, with every device that works on the same tokens: the step's over all of
    // them.
    for (const auto& line : lines)
      times.add({iteration_of(line.step),
                 facts.batch->value * facts.sequence->value / rate_of(line.rate) / ranks, line.rate.place});
    return run;
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto steps = lines[i].step.value - lines[i - 1].step.value;
    if (!lines[i].stamp || !lines[i - 1].stamp || steps <= 0) continue;
    double took = *lines[i].stamp - *lines[i - 1].stamp;
    if (took > 0) times.add({iteration_of(lines[i].step), took / steps, lines[i].rate.place});
  }
  if (!run.times.empty())
    run.notes.emplace_back(
        "the log does not say its batch: times are from one line's clock to the next one's, with whatever "
        "else was between them");
  return run;
}

}  // namespace ddpsim::calibrate
