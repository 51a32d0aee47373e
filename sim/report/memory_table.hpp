#pragma once
// What a GPU holds, in parts (`ddpsim memory`).
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/base/terminal.hpp"
#include "sim/compute/memory_advice.hpp"
#include "sim/report/result_json.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

struct MemoryReport {
  MemoryMetrics memory;
  std::vector<SharedModelMetrics::Stage> stages;  // by rank of the pipeline; none: GPUs share no model
  struct OfRank {
    int rank = 0;
    MemoryParts memory;
  };
  std::vector<OfRank> ranks;          // that were recorded
  std::vector<MemoryOption> options;  // what would change it
};

void print_memory(std::ostream& out, const Terminal& terminal, const MemoryReport& report);
std::string memory_report_json(const MemoryReport& report, const ToolInfo& tool,
                               const std::vector<Note>& notes);
std::string memory_csv(const MemoryMetrics& memory);  // a row a part

}  // namespace ddpsim
