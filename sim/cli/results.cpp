// `ddpsim results`: what a study's rows say.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/report/study_table.hpp"
#include "sim/study/results_file.hpp"

namespace ddpsim::cli {
namespace {

struct ResultsOptions {
  std::vector<std::string> files;
  std::string file, out;
  int top = 3;
};

void merge(const ResultsOptions& options) {
  check_outputs({{"--out", options.out}});
  auto merged = merge_results(options.files, options.out);
  print_notes(merged.notes);
  fmt::print("{} of {} points are in {}{}\n", merged.rows, merged.points, options.out,
             merged.failed == 0 ? "" : fmt::format(", {} of them failed", merged.failed));
}

void best(const ResultsOptions& options) {
  std::optional<BestRows> rows;
  auto notes = visit_results(options.file, {[&](const StudyHead& study) {
                                              rows.emplace(study, static_cast<std::size_t>(options.top));
                                            },
                                            [&](const StudyRow& row) { rows->add(row); }});
  print_notes(notes);
  rows->print(std::cout, standard_output());
}

// Twice through the file: rows need not have the same figures.
void csv(const ResultsOptions& options) {
  check_outputs({{"--out", options.out}});
  StudyHead study;
  std::vector<std::string> columns;
  auto head = [&](const StudyHead& found) { study = found; };
  auto notes = visit_results(options.file, {head, [&](const StudyRow& row) {
                                              for (const auto& [key, value] : row.figures)
                                                if (std::ranges::find(columns, key) == columns.end() &&
                                                    std::ranges::find(study.axes, key) == study.axes.end())
                                                  columns.push_back(key);
                                            }});
  print_notes(notes);
  auto text = study_csv_header(study, columns);
  visit_results(options.file, {head, [&](const StudyRow& row) { text += study_csv_record(row, columns); }});
  OutputPhase writing;
  write_output(options.out.empty() ? "-" : options.out, text);
}

Option file_argument(ResultsOptions& options) {
  return {.name = "FILE",
          .value = &options.file,
          .description = "What 'ddpsim sweep --results' wrote, or has written so far",
          .is_required = true};
}

}  // namespace

Command results_command() {
  auto options = std::make_shared<ResultsOptions>();
  auto out = output_option("--out", &options->out, "Where all rows go, in the order of their points");
  out.is_required = true;
  return {.name = "results",
          .description = "What a study has found: its best points, all as CSV, shards as one file",
          .example = "  ddpsim results best r.jsonl",
          .commands = {{.name = "best",
                        .description = "The shortest steps of each cluster and workload",
                        .example = "  ddpsim results best results.jsonl --top 5",
                        .options = {file_argument(*options),
                                    {.name = "--top",
                                     .value = &options->top,
                                     .description = "How many of each",
                                     .shows_default = true,
                                     .range = {{1, 1000}}}},
                        .run = [options] { best(*options); }},
                       {.name = "csv",
                        .description = "All rows as a table",
                        .example = "  ddpsim results csv results.jsonl --out results.csv",
                        .options = {file_argument(*options),
                                    output_option("--out", &options->out,
                                                  "Where to (default: standard output)", "PATH|-")},
                        .run = [options] { csv(*options); }},
                       {.name = "merge",
                        .description = "Join the results of a sweep's shards",
                        .example = "  ddpsim results merge shard-*.jsonl --out results.jsonl",
                        .options = {{.name = "FILES",
                                     .value = &options->files,
                                     .description = "What 'ddpsim sweep --results --shard' wrote",
                                     .is_required = true},
                                    out},
                        .run = [options] { merge(*options); }}}};
}

}  // namespace ddpsim::cli
