#pragma once
// A sweep as one page of HTML: what is best, pictures, every point, what bounds the best one, what is left
// out, and what it was made of.
#include <map>
#include <string>
#include <vector>

#include "sim/base/input_log.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// An iteration under PyTorch's default cap, everything else as at a point.
struct WithDefaultCap {
  Bytes cap;
  std::optional<Bytes> first;  // of the first bucket, where that is another one
  Seconds iteration;
};

struct SweepReport {
  ScenarioInfo scenario;
  ToolInfo tool;
  std::vector<InputFile> inputs;
  std::string explanation;                             // of the best point
  std::map<std::size_t, WithDefaultCap> with_default;  // of best points of groups, by point
};

// Draws with gnuplot. Throws BackendMissing without it. The same input gives the same bytes.
std::string sweep_html(const SweepResult& result, const SweepReport& report);

}  // namespace ddpsim
