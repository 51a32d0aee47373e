#pragma once
// Whose results these are: the program's, of a scenario.
#include <string>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Who computed this.
struct ToolInfo {
  std::string version;
  std::string simgrid;  // the version of the engine
};
ToolInfo tool_info();  // this build

// Which scenario was swept.
struct ScenarioInfo {
  std::string file;
  std::vector<std::string> set;  // the --set arguments, as given
  std::vector<AxisValues> axes;
};

}  // namespace ddpsim
