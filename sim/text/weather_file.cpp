#include "sim/text/weather_file.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/job/rows/shares_rows.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/topology/fabric.hpp"

namespace ddpsim::weather_keys {
namespace {

using namespace keys;
using RowsOfNodes = std::vector<job::SharesOfNodes>;

void check_ascending(const RowsOfNodes& rows, const Value& list) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].nodes <= rows[i - 1].nodes)
      throw InputError(list.items[i].span,
                       fmt::format("{} nodes come after {}", rows[i].nodes, rows[i - 1].nodes),
                       "list them in ascending order, each once");
}

struct WeatherFile {
  std::string network = {};
  RowsOfNodes rows = {};
};

Type<WeatherFile> file_keys() {
  auto rows = list(job::weather_rows(),
                   {1, "no row says what the fabric gives", "add {nodes: 2, p5: 0.5, median: 0.8, p95: 1}"});
  return nested(Rows<WeatherFile>("weather")
                    .kind("weather")
                    .key<&WeatherFile::network>("network", name_of(kNetworkClassNames), "Where measured")
                    .needs<&WeatherFile::rows>("rows", checked<RowsOfNodes>(rows, check_ascending),
                                               "Quantiles by nodes"));
}

}  // namespace
}  // namespace ddpsim::weather_keys

namespace ddpsim {

file_rows::Codec file_rows::weather() {
  return weather_keys::file_keys().codec;
}

Weather weather_of(const job::Shares& shares) {
  // However many nodes there are.
  return {.rows = {{kLargestWorldSize, shares.p5, shares.median, shares.p95}}, .network = {}};
}

Weather read_weather_file(const std::string& path) {
  static const auto rows = weather_keys::file_keys();
  auto file = keys::read_alone(rows, config::load_yaml(path, "weather of a fabric"));
  Weather weather{.rows = {}, .network = std::move(file.network)};
  for (const auto& row : file.rows) weather.rows.push_back({row.nodes, row.p5, row.median, row.p95});
  return weather;
}

}  // namespace ddpsim
