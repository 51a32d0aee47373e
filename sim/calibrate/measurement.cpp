#include "sim/calibrate/measurement.hpp"

#include <algorithm>
#include <memory>

#include "sim/nccl/cost_model.hpp"
#include "sim/nccl/peer_model.hpp"

namespace ddpsim::calibrate {

std::vector<Point> points_of(const CollectiveTable& table, Bytes from) {
  std::vector<Point> points;
  for (const auto& row : table.rows) {
    if (row.bytes < from) continue;
    Point point{row.bytes, row.out_of_place, row.span, {}};
    if (row.in_place) {
      point.measured = std::min(point.measured, *row.in_place);
      point.places_ratio = row.out_of_place / *row.in_place;
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::string algorithm_name(const Measurement& measurement, Bytes bytes) {
  if (sends_directly(measurement.collective.operation)) return "direct";
  nccl::Tuner tuner(measurement.communicator, measurement.allowed, measurement.collective);
  return std::string(nccl::name(tuner.choose(bytes).algorithm));
}

std::function<Seconds(Bytes)> predictor(const Measurement& measurement,
                                        const nccl::Calibration& calibration) {
  const auto& m = measurement;
  if (sends_directly(m.collective.operation)) {
    auto model = std::make_shared<nccl::PeerModel>(m.communicator, calibration);
    auto bounds = m.link_bounds ? m.link_bounds(nccl::with_measured_pcie(m.communicator, calibration))
                                : nccl::LinkBounds();
    return [model, operation = m.collective.operation, bounds](Bytes bytes) {
      return model->choose(operation, bytes, bounds).time;
    };
  }
  auto model = std::make_shared<nccl::CostModel>(m.communicator, m.allowed, calibration, m.collective);
  return [model](Bytes bytes) { return model->choose(bytes).time; };
}

}  // namespace ddpsim::calibrate
