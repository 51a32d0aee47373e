#pragma once
#include <string>
#include <vector>

namespace ddpsim::cli {

// A scenario as a file's text (YAML) of what --set takes: "cluster.world_size=64". Of two for one key the
// later one counts.
std::string scenario_text(const std::vector<std::string>& assignments);

}  // namespace ddpsim::cli
