#include "sim/report/result_json.hpp"
#include "sim/report/version.hpp"

namespace ddpsim {

ToolInfo tool_info() {
  return {kVersion, kSimGridVersion};
}

}  // namespace ddpsim
