#include "sim/cli/study.hpp"

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/notes.hpp"
#include "sim/study/results_file.hpp"
#include "sim/study/study.hpp"

namespace ddpsim::cli {
namespace {

constexpr std::size_t kBatch = 1000;  // points that are planned at once
constexpr std::int64_t kMostShards = 1'000'000;

// Every `of`-th point, from `first` on.
struct Shard {
  std::size_t first = 0, of = 1;
};

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  Located whole{text, {make_source("--shard", text), 1, 1, static_cast<int>(text.size())}};
  auto slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
    throw InputError(whole.span, fmt::format("'{}' is no shard", text), "write 1/8, 2/8, ... 8/8");
  auto at = static_cast<int>(slash);
  auto part = [&](int begin, int length, std::int64_t most) {
    return parse_integer({text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)),
                          whole.span.part(begin, length)},
                         1, most);
  };
  auto of = part(at + 1, static_cast<int>(text.size()) - at - 1, kMostShards);
  auto number = part(0, at, of);
  return {static_cast<std::size_t>(number - 1), static_cast<std::size_t>(of)};
}

}  // namespace

void StudyOptions::add_to(Command& command) {
  auto results_option =
      output_option("--results", &results,
                    "Append every finished point to this file, a line of JSON each, and print no table: for "
                    "sweeps of any size; a point that fails is a line with its error");
  results_option.excludes = {"--json", "--csv", "--plot", "--html", "--exact-optimum", "--out"};
  command.options.push_back(std::move(results_option));
  command.options.push_back(
      {.name = "--all-columns",
       .value = &all_columns,
       .description = "Each line has all that --json has of a point, not only what is mostly asked for",
       .needs = {"--results"}});
  command.options.push_back({.name = "--resume",
                             .value = &resume,
                             .description = "Go on where an earlier run with these --results ended",
                             .needs = {"--results"}});
  command.options.push_back(
      {.name = "--shard",
       .value = &shard,
       .description = "Only every N-th point, from the I-th on; 'ddpsim results merge' joins the files",
       .type = "I/N",
       .needs = {"--results"}});
}

void run_study(const ScenarioOptions& scenario, const StudyOptions& options, unsigned jobs) {
  auto shard = parse_shard(options.shard);
  check_outputs({{"--results", options.results}});
  std::vector<Note> notes;
  Study study(scenario.file, scenario.load(notes, true), options.all_columns);
  if (study.grid().axes().empty())
    throw InputError("there is nothing to sweep",
                     "name an axis: --set 'sweep.ddp.bucket_cap=[1MiB, 25MiB]', or the section 'sweep'");
  check_writable(options.results, "--results");  // now that all files are read
  ResultsFile results(options.results, options.resume, study.head());
  if (!scenario.quiet) print_notes(results.notes());
  std::size_t all = study.size() > shard.first ? (study.size() - shard.first - 1) / shard.of + 1 : 0;
  std::size_t before = 0;
  for (auto point = shard.first; point < study.size(); point += shard.of) before += results.has(point);
  std::size_t done = before;
  ProgressLine progress(scenario.quiet);
  progress.show_done(done, all, before);
  std::vector<std::size_t> batch;
  auto run = [&] {
    study.run(batch, jobs, [&](std::size_t, const std::string& row) {
      results.append(row);
      progress.show_done(++done, all, before);
    });
    batch.clear();
  };
  for (auto point = shard.first; point < study.size(); point += shard.of) {
    if (!results.has(point)) batch.push_back(point);
    if (batch.size() == kBatch) run();
  }
  run();
  results.finish();
  progress.clear();
  if (scenario.quiet) return;
  auto failed = results.failed();
  fmt::print("{} of {} points are in {}", results.rows(), study.size(), options.results);
  fmt::print("{}\n", failed == 0 ? "" : fmt::format(", {} of them failed", failed));
}

}  // namespace ddpsim::cli
