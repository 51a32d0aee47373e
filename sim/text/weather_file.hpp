#pragma once
#include <string>

#include "sim/config/value.hpp"
#include "sim/variability/weather.hpp"

namespace ddpsim {

// {p5, median, p95}: shares at any number of nodes. Throws InputError.
Weather read_weather(const config::Value& value);
// A file of fabrics/ (docs/formats.md, "Fabric weather"), by number of nodes. Throws InputError with the
// place and a hint.
Weather read_weather_file(const std::string& path);

}  // namespace ddpsim
