#pragma once
#include <string>

#include "sim/text/launch_file.hpp"

namespace ddpsim {

// apply_launch_file() of a scenario whose model may be in a file, found from `scenario` on: DeepSpeed's
// "auto" is of its width.
Launched apply_to_job(config::Value& root, const LaunchFile& file, bool sweeps, const std::string& scenario);

}  // namespace ddpsim
