#pragma once
// `ddpsim calibrate TABLES`: NCCL's cost model fitted to measured times of collectives, and judged by them.
#include <optional>
#include <string>
#include <vector>

namespace ddpsim::cli {

struct TableOptions {
  std::vector<std::string> machines, judged;  // each FILE[,FILE...]
  std::string topology, algorithm, operation, out, json, plot, per_call;
  std::optional<int> world_size;
  bool from_nothing = false, every_other_size = false, quiet = false, accept = false;
};

void calibrate_tables(const TableOptions& options);

}  // namespace ddpsim::cli
