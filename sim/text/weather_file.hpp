#pragma once
#include <string>

#include "sim/job/job.hpp"
#include "sim/variability/weather.hpp"

namespace ddpsim {

// Shares at any number of nodes.
Weather weather_of(const job::Shares& shares);
// A file of fabrics/ (docs/reference/measured.md, "Fabric weather"), by number of nodes. Throws InputError
// with the place and a hint.
Weather read_weather_file(const std::string& path);

}  // namespace ddpsim
