// `ddpsim schema`: the keys of a scenario, for editors.
#include <fmt/core.h>

#include "sim/cli/commands.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/report/scenario_schema.hpp"

namespace ddpsim::cli {

Command schema_command() {
  return {.name = "schema",
          .description = "Print the JSON schema of scenarios, for editors that complete and check them",
          .example = "  ddpsim schema > scenario.schema.json",
          .run = [] { fmt::print("{}", scenario_schema(job_table())); }};
}

}  // namespace ddpsim::cli
