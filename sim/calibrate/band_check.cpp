#include "sim/calibrate/band_check.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/calibrate/least_squares.hpp"

namespace ddpsim::calibrate {
namespace {

// The mean of |ln(predicted / measured)| of a band's rows; none: it has none.
std::optional<double> error_in(const Band& band, const std::vector<const Measurement*>& tables,
                               const nccl::Calibration& calibration) {
  double sum = 0;
  std::size_t rows = 0;
  for (const auto* table : tables) {
    auto time = predictor(*table, calibration);
    for (const auto& point : points_of(table->table)) {
      if (point.bytes < band.from || (band.below && point.bytes >= *band.below)) continue;
      sum += std::abs(std::log(time(point.bytes) / point.measured));
      ++rows;
    }
  }
  if (rows == 0) return std::nullopt;
  return std::expm1(sum / static_cast<double>(rows));
}

}  // namespace

std::string WorseBand::text() const {
  auto sizes = !band.below ? fmt::format("from {} up", format_bytes(band.from))
               : band.from <= Bytes(0)
                   ? fmt::format("below {}", format_bytes(*band.below))
                   : fmt::format("from {} to {}", format_bytes(band.from), format_bytes(*band.below));
  return fmt::format("{:.0f} % off rows {}, where it was {:.0f} % before", 100 * after, sizes, 100 * before);
}

std::optional<WorseBand> worse_band(const std::vector<const Measurement*>& tables,
                                    const nccl::Calibration& before, const nccl::Calibration& after) {
  constexpr double kNoise = 0.015;  // of the mean of a dozen rows, each known to 5 %
  for (const auto& band : kBands) {
    auto then = error_in(band, tables, before), now = error_in(band, tables, after);
    if (then && *now > std::max(*then, kUnitError) + kNoise) return WorseBand{band, *then, *now};
  }
  return std::nullopt;
}

}  // namespace ddpsim::calibrate
