#include "sim/text/weather_file.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/topology/fabric.hpp"

namespace ddpsim {
namespace {

using config::as_number;
using config::MapReader;
using config::Value;

// A tenth of a thousandth is a link that is down.
constexpr double kLeastShare = 1e-4, kLargestShare = 10;

void read_shares(MapReader& reader, const SourceSpan& place, WeatherRow& row) {
  auto share = as_number(kLeastShare, kLargestShare);
  row.p5 = reader.required("p5", share);
  row.median = reader.required("median", share);
  row.p95 = reader.required("p95", share);
  if (row.p5 > row.median || row.median > row.p95)
    throw InputError(place, fmt::format("shares fall: p5 {}, median {}, p95 {}", row.p5, row.median, row.p95),
                     "they are shares of the bandwidth, so that p5 is the worst");
}

}  // namespace

Weather read_weather(const Value& value) {
  MapReader reader(value, "variability.weather");
  WeatherRow row;
  for (const char* key : {"p5", "median", "p95"}) reader.find(key);
  reader.finish();
  read_shares(reader, value.span, row);
  return {.rows = {row}, .network = {}};
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
  for (const auto& item : config::items_of(rows)) {
    MapReader row_reader(item, "rows");
    WeatherRow row;
    for (const char* key : {"p5", "median", "p95"}) row_reader.find(key);
    row.nodes = row_reader.required("nodes", [](const Value& value) {
      return static_cast<int>(config::as_integer(2, kLargestWorldSize)(value));
    });
    read_shares(row_reader, item.span, row);
    row_reader.finish();
    if (!weather.rows.empty() && row.nodes <= weather.rows.back().nodes)
      throw InputError(item.span, fmt::format("{} nodes come after {}", row.nodes, weather.rows.back().nodes),
                       "list them in ascending order, each once");
    weather.rows.push_back(row);
  }
  if (weather.rows.empty())
    throw InputError(rows.span, "no row says what the fabric gives",
                     "add {nodes: 2, p5: 0.5, median: 0.8, p95: 1}");
  return weather;
}

}  // namespace ddpsim
