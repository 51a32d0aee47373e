#pragma once
// `simulate --explain`: what bounds the iteration, and what would change it, by simulating that.
#include <functional>
#include <iosfwd>
#include <string>

#include "sim/config/value.hpp"
#include "sim/result/columns.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

// `root` is the scenario without its sweep section, `metrics` what was simulated of it; `path` the scenario's
// file, `job` that and its --set, as a shell takes them.
// `on_progress` hears how many of the changes were tried. Returns what it writes of them as fields of JSON.
using OnTried = std::function<void(std::size_t done, std::size_t all)>;
Cell::Fields explain(std::ostream& out, const std::string& path, const std::string& job,
                     const config::Value& root, const IterationMetrics& metrics,
                     const OnTried& on_progress = {});

}  // namespace ddpsim
