#include <algorithm>

#include <fmt/core.h>

#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/statistics.hpp"
#include "sim/config/reader.hpp"
#include "sim/resolve/sections.hpp"
#include "sim/text/weather_file.hpp"

namespace ddpsim {
namespace {

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
  VariabilityReader(Files& files, const GivenJob& given, const LayerTrace& trace)
      : files_(files), given_(given), trace_(trace) {}

  Variability read() {
    const auto& section = *given_.job.variability;
    Variability variability;
    variability.seed = *section.seed;
    variability.iterations = section.iterations;
    variability.report = section.report;
    variability.ranks = distribution(section.ranks, "ranks");
    variability.nodes = distribution(section.nodes, "nodes");
    variability.slow = section.slow;
    if (section.weather) {
      if (const auto* shares = std::get_if<job::Shares>(&*section.weather))
        variability.weather = weather_of(*shares);
      if (const auto* file = std::get_if<std::string>(&*section.weather))
        variability.weather = read_weather_file(
            files_.path_of(PresetKind::fabrics, given_.located(*file, "variability.weather")));
    }
    if (section.jitter)
      variability.jitter = distribution(*section.jitter, "jitter");
    else if (!variability.weather || has_spread())
      variability.jitter = of_trace(given_.at("variability"));
    return variability;
  }

 private:
  template <class OneOf>
  std::optional<FactorDistribution> distribution(const OneOf& section, const char* key) {
    auto path = fmt::format("variability.{}", key);
    if (const auto* spread = std::get_if<double>(&section))
      return *spread == 0 ? std::nullopt : std::optional(FactorDistribution(LogNormal{*spread}));
    if (const auto* table = std::get_if<job::Table>(&section))
      return read_observed(files_.path_of(given_.located(table->observed, path + ".observed")));
    if constexpr (std::is_same_v<OneOf, std::variant<job::OfTrace, job::Off, double, job::Table>>)
      if (std::holds_alternative<job::OfTrace>(section)) return of_trace(given_.at(path));
    return std::nullopt;
  }

  // Backward passes that take longer do so in all their layers: the last gradient's spread is the pass's.
  [[nodiscard]] std::optional<FactorDistribution> of_trace(const SourceSpan& place) const {
    const auto& last = trace_.gradients.back();
    if (!has_spread())
      throw InputError(place,
                       "the trace records no spread over its iterations, so nothing says how much varies",
                       "write jitter: 0.03 (standard deviation over median), {observed: FILE} or none");
    return LogNormal{std::min(kLargestSpread, *last.ready_spread / last.ready)};
  }

  [[nodiscard]] bool has_spread() const {
    const auto& spread = trace_.gradients.back().ready_spread;
    return spread && *spread > Seconds();
  }

  Files& files_;
  const GivenJob& given_;
  const LayerTrace& trace_;
};

}  // namespace

Variability variability_of(Files& files, const GivenJob& given, const LayerTrace& trace) {
  return VariabilityReader(files, given, trace).read();
}

}  // namespace ddpsim
