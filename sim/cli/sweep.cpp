#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/study.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/console.hpp"
#include "sim/report/result_csv.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"
#include "sim/study/sweep_run.hpp"

namespace ddpsim::cli {
namespace {

struct SweepOptions {
  ScenarioOptions scenario;
  StudyOptions study;
  std::string plot, html;
  unsigned jobs = all_cores();
  int draws = 0;  // 0: by curves
  bool exact_optimum = false, markdown = false, formula = false;
};

// Which caps give the buckets of each group's best point: all from its own up to the next distinct one.
void print_cap_ranges(const SweepResult& result) {
  auto cap_axis = *result.find_axis(kBucketCapAxis);
  auto groups = result.groups(cap_axis);
  for (const auto& group : groups) {
    auto best = std::find(group.points.begin(), group.points.end(), result.best_of(group.points));
    auto cap_of = [&](std::size_t point) { return result.points[point].metrics.bucket_cap->value(); };
    fmt::print("{}{}{} distinct bucket assignments; every cap from {:.0f} B {} gives the best one\n",
               group.name, group.name.empty() ? "" : ": ", group.points.size(), cap_of(*best),
               best + 1 == group.points.end() ? "on" : fmt::format("to {:.0f} B", cap_of(*(best + 1)) - 1));
  }
}

// Runs every point. Returns the hint of the first lost point, if any.
std::optional<std::string> run_and_print(const SweepOptions& options, const SweepPlan& plan,
                                         const config::Value& root,
                                         const std::vector<config::SweepAxis>& axes, SweepResult& result) {
  ProgressLine progress(options.scenario.quiet);
  const auto all = plan.points.size() + plan.refused.size();
  std::size_t done = 0;
  std::optional<Seconds> least;
  auto show = [&] {
    progress.show_done(++done, all, 0, least ? "best so far " + format_seconds(*least) : "");
  };
  progress.show_done(done, all);
  auto hint = run_sweep(plan, options.jobs, result,
                        {[&](const SweepPoint& point) {
                           least = std::min(least.value_or(point.metrics.iteration), point.metrics.iteration);
                           show();
                         },
                         [&](const FailedPoint&) { show(); }});
  progress.clear();
  add_default_caps(result, options.scenario.file, root, axes, options.jobs);
  if (options.formula) add_formulas(result, options.scenario.file, root, axes);
  if (!options.scenario.prints_summary()) return hint;
  print_sweep(std::cout, standard_output(), result,
              options.markdown ? TableStyle::markdown : TableStyle::text);
  if (options.exact_optimum) print_cap_ranges(result);
  return hint;
}

std::vector<std::string> page_options(const SweepOptions& options) {
  std::vector<std::string> words{"--html", options.html};
  if (options.exact_optimum) words.emplace_back("--exact-optimum");
  if (options.formula) words.emplace_back("--formula");
  if (options.draws > 0) words.insert(words.end(), {"--draws", fmt::format("{}", options.draws)});
  std::ranges::move(options.scenario.launch.words(), std::back_inserter(words));
  std::ranges::move(options.scenario.job.words(), std::back_inserter(words));
  return words;
}

void check_pages(const SweepOptions& options) {
  options.scenario.check_outputs({{"--plot", options.plot}, {"--html", options.html}});
  check_plot_path(options.plot);
}

void sweep(const SweepOptions& options) {
  if (options.formula && !options.study.results.empty())
    throw InputError("--formula is of a whole sweep, and --results of its points", "leave one of them out");
  if (options.draws > 0 && !options.study.results.empty())
    throw InputError("--draws is of a whole sweep, and --results of its points", "leave one of them out");
  if (!options.study.results.empty()) return run_study(options.scenario, options.study, options.jobs);
  check_pages(options);
  InputLog inputs;
  std::vector<Note> said;  // while it was loaded
  auto root = options.scenario.load(said, true);
  auto written = options.scenario.written(root);
  auto axes = config::take_sweep_axes(root);
  if (axes.empty() && !options.exact_optimum)
    throw InputError(
        root.span, "there is nothing to sweep",
        "name an axis: --set 'sweep.ddp.bucket_cap=[1MiB, 25MiB]', or the section 'sweep'; or use 'ddpsim "
        "simulate' (--set removes the axis it names)");
  Files files(options.scenario.file);
  SweepPlan plan = with_progress(options.scenario.quiet, [&] {
    return options.exact_optimum ? plan_exact_optimum(root, axes, files) : plan_possible(root, axes, files);
  });
  if (options.formula) check_formulas(plan, root.span);
  check_draws(options.draws, std::ranges::any_of(plan.scenarios, [](const Scenario& scenario) {
                return scenario.evidence && !scenario.evidence->lines.empty();
              }));
  for (auto& point : plan.points) point.draws = static_cast<std::size_t>(options.draws);
  auto result = begin_sweep(plan, options.scenario.file, said);
  result.has_every_assignment = options.exact_optimum;
  if (!options.scenario.quiet) print_notes(std::span(result.notes).subspan(said.size()));
  auto hint = run_and_print(options, plan, root, axes, result);
  auto unmatched = unmatched_notes(result);
  if (!options.scenario.quiet) print_notes(unmatched);
  result.notes.insert(result.notes.end(), unmatched.begin(), unmatched.end());
  ScenarioInfo scenario{options.scenario.file, options.scenario.overrides, plan.axes};
  std::string page;
  if (!options.html.empty())
    page = sweep_page(result, scenario, page_options(options), options.scenario.file, std::move(root), axes,
                      inputs);
  OutputPhase writing;
  write_output(options.scenario.out, written);
  write_output(options.scenario.json, [&] { return sweep_json(result, scenario, tool_info()); });
  write_output(options.scenario.csv, [&] { return sweep_csv(result); });
  write_output(options.plot, [&] { return svg(sweep_chart(result)); });
  if (!options.html.empty()) write_whole_file(options.html, page);
  if (hint) fail_lost(result, *hint);
}

}  // namespace

Command sweep_command() {
  auto options = std::make_shared<SweepOptions>();
  Command command{.name = "sweep",
                  .description = "Many points: caps, strategies, links, numbers of GPUs; which is best",
                  .example = "  ddpsim sweep configs/quickstart.yaml --csv sweep.csv --plot sweep.svg",
                  .run = [options] { sweep(*options); }};
  options->scenario.add_to(command);
  options->scenario.add_iterations_to(command);
  options->scenario.add_job_to(command);
  command.options.insert(
      command.options.end(),
      {output_option("--plot", &options->plot, "Draw iteration time against bucket cap (.svg)"),
       output_option(
           "--html", &options->html,
           "Write one page with pictures, all points, what bounds the best one, notes and the files "
           "that were read"),
       {.name = "--jobs",
        .value = &options->jobs,
        .description = "How many points are simulated at once",
        .shows_default = true,
        .range = {{1, 1024}}},
       draws_option(&options->draws),
       {.name = "--formula",
        .value = &options->formula,
        .description = "Beside each cap what the textbook's formula says, and its best cap"},
       {.name = "--markdown", .value = &options->markdown, .description = "Print the tables as Markdown"},
       {.name = "--exact-optimum",
        .value = &options->exact_optimum,
        .description = "Instead of a grid of caps, try every bucket assignment that any cap can give: the "
                       "time grows as the "
                       "square of the number of gradients"}});
  options->study.add_to(command);
  return command;
}

}  // namespace ddpsim::cli
