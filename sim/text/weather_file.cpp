#include "sim/text/weather_file.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/job/shares_rows.hpp"
#include "sim/keys/types.hpp"
#include "sim/topology/fabric.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

}  // namespace

Weather weather_of(const job::Shares& shares) {
  // However many nodes there are.
  return {.rows = {{kLargestWorldSize, shares.p5, shares.median, shares.p95}}, .network = {}};
}

Weather read_weather_file(const std::string& path) {
  Value root = config::load_yaml(path, "weather of a fabric");
  MapReader reader(root, "weather");
  reader.required("kind", config::as_word(config::Words<bool>{{"weather", true}}));
  Weather weather;
  if (auto network = reader.optional("network", config::as_word(config::words_of(kNetworkClassNames))))
    weather.network = name_in(kNetworkClassNames, *network);
  const Value& rows = reader.require("rows");
  reader.finish();
  static const auto row_type = job::weather_rows();
  for (const auto& item : config::items_of(rows)) {
    keys::Places places;
    auto row = keys::read_alone(row_type, item, places);
    if (!weather.rows.empty() && row.nodes <= weather.rows.back().nodes)
      throw InputError(item.span, fmt::format("{} nodes come after {}", row.nodes, weather.rows.back().nodes),
                       "list them in ascending order, each once");
    weather.rows.push_back({row.nodes, row.p5, row.median, row.p95});
  }
  if (weather.rows.empty())
    throw InputError(rows.span, "no row says what the fabric gives",
                     "add {nodes: 2, p5: 0.5, median: 0.8, p95: 1}");
  return weather;
}

}  // namespace ddpsim
