#include <algorithm>

#include <fmt/core.h>

#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/statistics.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/weather_file.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_number;
using config::as_word;
using config::check_word;
using config::is_word;
using config::MapReader;
using config::Value;
using config::Words;

// Compute times over their median.
Observed read_observed(const std::string& path) {
  auto table = read_csv(path, "a table of compute times");
  auto column = table.column("compute_s");
  std::vector<double> times;
  for (const auto& row : table.rows) times.push_back(parse_number(row[column], 1e-9, 1e9));
  if (times.size() < 2)
    throw InputError(table.header[column].span, fmt::format("{} compute times have no spread", times.size()),
                     "list one a row, of as many iterations as there are");
  double center = median(times);
  for (auto& time : times) time /= center;
  return {std::move(times)};
}

class VariabilityReader {
 public:
  VariabilityReader(const LayerTrace& trace, const PathResolver& resolve, const FabricResolver& fabric)
      : trace_(trace), resolve_(resolve), fabric_(fabric) {}

  Variability read(const Value& value) {
    MapReader reader(value, "variability");
    Variability variability;
    const Value* seed = reader.find("seed");
    variability.iterations =
        static_cast<int>(reader.optional("iterations", as_integer(1, kMostIterations)).value_or(200));
    Words<ReportedIteration> reported{{"median", ReportedIteration::median}, {"p95", ReportedIteration::p95}};
    variability.report = reader.optional("report", as_word(reported)).value_or(ReportedIteration::median);
    const Value* ranks = reader.find("ranks");
    const Value* nodes = reader.find("nodes");
    const Value* slow = reader.find("slow");
    const Value* jitter = reader.find("jitter");
    const Value* layers = reader.find("layers");
    const Value* weather = reader.find("weather");
    reader.finish();
    if (!seed)
      throw InputError(value.span, "random numbers need a seed",
                       "add seed: 1, or --seed 1; the same seed gives the same numbers");
    variability.seed = static_cast<std::uint64_t>(as_integer(0, std::int64_t{1} << 53U)(*seed));
    if (ranks) variability.ranks = read_distribution(*ranks);
    if (nodes) variability.nodes = read_distribution(*nodes);
    if (slow)
      for (const auto& item : config::items_of(*slow)) variability.slow.push_back(read_slow(item));
    if (weather && !is_word(*weather, "none"))
      variability.weather =
          weather->kind == Value::Kind::map ? read_weather(*weather) : read_weather_file(fabric_(*weather));
    if (layers) variability.layers = read_distribution(*layers);
    if (!jitter && (variability.layers || (variability.weather && !has_spread()))) return variability;
    if (!jitter)
      variability.jitter = of_trace(value.span);
    else
      variability.jitter =
          is_word(*jitter, "trace") ? of_trace(jitter->span) : read_distribution(*jitter, {"none", "trace"});
    return variability;
  }

 private:
  std::optional<FactorDistribution> read_distribution(const Value& value,
                                                      const std::vector<std::string>& words = {"none"}) {
    if (is_word(value, "none")) return std::nullopt;
    if (value.kind != Value::Kind::map) {
      if (value.kind == Value::Kind::scalar && value.scalar.ends_with(".csv"))
        throw InputError(value.span, fmt::format("'{}' is no number", value.scalar),
                         fmt::format("write {{observed: {}}} for a table of compute times", value.scalar));
      check_word(value, words, "write none, a spread like 0.03, or {observed: FILE}");
      double spread = as_number(0, kLargestSpread)(value);
      if (spread == 0) return std::nullopt;
      return LogNormal{spread};
    }
    MapReader reader(value, "variability");
    reader.find("observed");
    reader.finish();
    return read_observed(resolve_(reader.require("observed")));
  }

  // Backward passes that take longer do so in all their layers: the last gradient's spread is the pass's.
  std::optional<FactorDistribution> of_trace(const SourceSpan& place) {
    const auto& last = trace_.gradients.back();
    if (!last.ready_spread || *last.ready_spread == Seconds(0))
      throw InputError(place,
                       "the trace records no spread over its iterations, so nothing says how much varies",
                       "write jitter: 0.03 (standard deviation over median), {observed: FILE} or none");
    return LogNormal{std::min(kLargestSpread, *last.ready_spread / last.ready)};
  }

  [[nodiscard]] bool has_spread() const {
    const auto& spread = trace_.gradients.back().ready_spread;
    return spread && *spread > Seconds();
  }

  static SlowOnes read_slow(const Value& value) {
    MapReader reader(value, "variability.slow");
    SlowOnes ones;
    Words<SlowOnes::Of> kinds{{"ranks", SlowOnes::Of::ranks}, {"nodes", SlowOnes::Of::nodes}};
    Words<SlowOnes::Lasts> durations{{"run", SlowOnes::Lasts::run},
                                     {"iteration", SlowOnes::Lasts::iteration}};
    ones.of = reader.required("of", as_word(kinds));
    ones.probability = reader.required("probability", as_number(0, 1));
    ones.slowdown = reader.required("slowdown", as_number(1, kLargestSlowdown));
    ones.lasts = reader.optional("lasts", as_word(durations)).value_or(SlowOnes::Lasts::run);
    reader.finish();
    return ones;
  }

  const LayerTrace& trace_;
  const PathResolver& resolve_;
  const FabricResolver& fabric_;
};

}  // namespace

Variability read_variability_section(const Value& variability, const LayerTrace& trace,
                                     const PathResolver& resolve, const FabricResolver& fabric) {
  return VariabilityReader(trace, resolve, fabric).read(variability);
}

}  // namespace ddpsim
