#include "sim/result/run_info.hpp"

#include "sim/result/version.hpp"

namespace ddpsim {

ToolInfo tool_info() {
  return {kVersion, kSimGridVersion};
}

}  // namespace ddpsim
