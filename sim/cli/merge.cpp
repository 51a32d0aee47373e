#include <memory>

#include <fmt/core.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/study/results_file.hpp"

namespace ddpsim::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string out;
};

void merge(const MergeOptions& options) {
  cli::check_outputs({{"--out", options.out}});
  auto merged = merge_results(options.files, options.out);
  print_notes(merged.notes);
  fmt::print("{} of {} points are in {}{}\n", merged.rows, merged.points, options.out,
             merged.failed == 0 ? "" : fmt::format(", {} of them failed", merged.failed));
}

}  // namespace

Command merge_command() {
  auto options = std::make_shared<MergeOptions>();
  auto out = output_option("--out", &options->out, "Where all rows go, in the order of their points");
  out.is_required = true;
  return {.name = "merge",
          .description = "Join the results of a sweep's shards",
          .example = "  ddpsim merge shard-*.jsonl --out results.jsonl",
          .options = {{.name = "FILES",
                       .value = &options->files,
                       .description = "What 'ddpsim sweep --results --shard' wrote",
                       .is_required = true},
                      out},
          .run = [options] { merge(*options); }};
}

}  // namespace ddpsim::cli
