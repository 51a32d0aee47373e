#include "sim/calibrate/curve_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/calibrate/band_check.hpp"
#include "sim/calibrate/least_squares.hpp"
#include "sim/nccl/cost_model.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr std::size_t kRowsOfALargeCurve = 1, kRowsOfAnotherCurve = 5;

std::vector<double> logarithms(const nccl::Curve& curve) {
  constexpr double kLeastRamp = 1e-9;  // none at all has no logarithm
  return {std::log(curve.latency_scale), std::log(curve.efficiency),
          std::log(std::max(curve.ramp.value(), kLeastRamp))};
}

nccl::Curve from_logarithms(const std::vector<double>& parameters) {
  return {std::exp(parameters[0]), std::exp(parameters[1]), Seconds(std::exp(parameters[2]))};
}

// As the cost model counts: latencies beyond InfiniBand's are what messages take longer.
nccl::Communicator physical(nccl::Communicator communicator) {
  communicator.tuner_nic_latency = nccl::beyond_infiniband(communicator);
  return communicator;
}

std::size_t rows_of(const std::vector<CurveSample>& samples, nccl::Algorithm algorithm) {
  std::size_t rows = 0;
  for (const auto& sample : samples) rows += sample.points(algorithm).size();
  return rows;
}

// The algorithms that have a curve, in the order of the tables; a table's own first.
std::vector<nccl::Algorithm> algorithms_of(const std::vector<CurveSample>& samples) {
  std::vector<nccl::Algorithm> found;
  auto add = [&](nccl::Algorithm algorithm, std::size_t fewest) {
    bool is_new = std::find(found.begin(), found.end(), algorithm) == found.end();
    if (is_new && rows_of(samples, algorithm) >= fewest) found.push_back(algorithm);
  };
  for (const auto& sample : samples) add(sample.large_algorithm(), kRowsOfALargeCurve);
  for (const auto& sample : samples)
    for (const auto& point : points_of(sample.measurement().table, kLarge))
      add(sample.curve_of(point.bytes), kRowsOfAnotherCurve);
  return found;
}

nccl::Calibration joined(const nccl::Calibration& known,
                         const std::vector<nccl::Calibration::Entry>& entries) {
  nccl::Calibration joined{entries, known.node};
  for (const auto& entry : known.entries)
    if (!joined.find(entry.algorithm, entry.across_nodes)) joined.entries.push_back(entry);
  return joined;
}

// The ways to fit one curve, until one makes no band of sizes worse.
class Attempt {
 public:
  Attempt(const std::vector<CurveSample>& samples, const std::vector<const Measurement*>& tables,
          const nccl::Calibration& known, const std::vector<nccl::Calibration::Entry>& entries,
          std::vector<Note>& notes)
      : samples_(samples), tables_(tables), known_(known), entries_(entries), notes_(notes) {}

  std::optional<nccl::Curve> curve_of(const nccl::Calibration::Entry& entry) {
    const auto* own = known_.find(entry.algorithm, entry.across_nodes);
    const auto& first = *std::find_if(samples_.begin(), samples_.end(), [&](const CurveSample& sample) {
      return !sample.points(entry.algorithm).empty();
    });
    auto prior = prior_for(first.measurement(), entry.algorithm, own);
    auto held = prior;
    held.mean.latency_scale = own ? own->latency_scale : 1;
    held.latency_width = 1e-3;
    struct Way {
      const Prior& prior;
      Bytes from;
      const char* what;
    };
    std::optional<WorseBand> worse;
    for (const auto& [of, from, what] :
         {Way{prior, kLarge, ""}, Way{prior, kSmallest, "it is fitted to small rows as well"},
          Way{held, kLarge, "its latency stays what it was"},
          Way{held, kSmallest, "its latency stays what it was"}}) {
      auto curve = fit_curve(samples_, entry.algorithm, of, from);
      auto found = worse_with(entry, curve);
      if (!found) {
        if (worse) say(entry, *worse, what);
        return curve;
      }
      if (!worse) worse = found;
    }
    say(entry, *worse, "it is left as it was");
    return std::nullopt;
  }

 private:
  std::optional<WorseBand> worse_with(nccl::Calibration::Entry entry, const nccl::Curve& curve) const {
    entry.curve = curve;
    auto with = entries_;
    with.push_back(std::move(entry));
    return worse_band(tables_, joined(known_, entries_), joined(known_, with));
  }

  void say(const nccl::Calibration::Entry& entry, const WorseBand& worse, std::string_view what) {
    notes_.push_back(
        {"calibration-band",
         fmt::format("the curve of {} {}, fitted to large rows, would be {}: {}", nccl::name(entry.algorithm),
                     entry.across_nodes ? "across nodes" : "in a node", worse.text(), what)});
  }

  const std::vector<CurveSample>& samples_;
  const std::vector<const Measurement*>& tables_;
  const nccl::Calibration& known_;
  const std::vector<nccl::Calibration::Entry>& entries_;
  std::vector<Note>& notes_;
};

}  // namespace

Prior prior_for(const Measurement& measurement, nccl::Algorithm algorithm, const nccl::Curve* known) {
  if (known) return {*known, 0.5, 0.06, 0.35};
  nccl::CurveShape shape(physical(measurement.communicator), measurement.allowed);
  auto bandwidth = shape.bandwidth(algorithm);
  if (measurement.communicator.nvlink && bandwidth > BytesPerSecond(50e9))
    return {{1.5, 1, Seconds(15e-6)}, 0.5, 0.15, 0.7};
  // Of slow links a ramp of some share of what 4 MiB take.
  return {{1.5, 1, 0.15 * (Bytes(4 * 1048576.0) / bandwidth)}, 0.7, 1.0, 1.5};
}

CurveSample::CurveSample(const Measurement& measurement)
    : measurement_(&measurement),
      shape_(physical(measurement.communicator), measurement.allowed),
      tuner_(measurement.communicator, measurement.allowed, measurement.collective) {}

nccl::Algorithm CurveSample::curve_of(Bytes bytes) const {
  const auto& candidate = tuner_.choose(bytes);
  bool is_ring = candidate.algorithm == nccl::Algorithm::ring;
  if (measurement_->across_nodes()) return is_ring ? nccl::Algorithm::ring : large_algorithm();
  return is_ring && candidate.protocol == nccl::Protocol::ll ? shape_.usual_large_algorithm()
                                                             : candidate.algorithm;
}

std::vector<Point> CurveSample::points(nccl::Algorithm algorithm, Bytes from) const {
  auto points = points_of(measurement_->table, from);
  std::erase_if(points, [&](const Point& point) { return curve_of(point.bytes) != algorithm; });
  return points;
}

Seconds CurveSample::time(const nccl::Curve& curve, Bytes bytes) const {
  return shape_.time(curve, tuner_.choose(bytes), bytes);
}

nccl::Curve fit_curve(const std::vector<CurveSample>& samples, nccl::Algorithm algorithm, const Prior& prior,
                      Bytes from) {
  std::vector<std::vector<Point>> points;
  for (const auto& sample : samples) points.push_back(sample.points(algorithm, from));
  LeastSquares problem;
  problem.mean = logarithms(prior.mean);
  problem.width = {prior.latency_width, prior.efficiency_width, prior.ramp_width};
  problem.residuals = [&](const std::vector<double>& parameters) {
    auto curve = from_logarithms(parameters);
    std::vector<double> residuals;
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (const auto& point : points[i])
        residuals.push_back(std::log(samples[i].time(curve, point.bytes) / point.measured) / kUnitError);
    return residuals;
  };
  return from_logarithms(minimize(problem));
}

std::vector<nccl::Calibration::Entry> fit_curves(const std::vector<const Measurement*>& machine,
                                                 const nccl::Calibration& known, std::vector<Note>& notes) {
  std::vector<nccl::Calibration::Entry> entries;
  for (bool across : {false, true}) {
    std::vector<CurveSample> samples;
    std::vector<const Measurement*> tables;
    for (const auto* measurement : machine)
      if (measurement->across_nodes() == across) {
        samples.emplace_back(*measurement);
        tables.push_back(measurement);
      }
    for (auto algorithm : algorithms_of(samples)) {
      nccl::Calibration::Entry entry{algorithm, across, {}};
      for (const auto& sample : samples)
        if (across && algorithm == nccl::Algorithm::ring && !sample.points(algorithm).empty())
          entry.nodes = std::max(entry.nodes, sample.measurement().communicator.nodes);
      Attempt attempt(samples, tables, known, entries, notes);
      if (auto curve = attempt.curve_of(entry)) {
        entry.curve = *curve;
        entries.push_back(std::move(entry));
      }
    }
  }
  return entries;
}

nccl::Curve mean_of(const std::vector<nccl::Curve>& curves) {
  DDPSIM_CHECK(!curves.empty(), "a mean of something");
  std::vector<double> sum(3, 0.0);
  for (const auto& curve : curves) {
    auto parameters = logarithms(curve);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += parameters[j];
  }
  for (double& value : sum) value /= static_cast<double>(curves.size());
  return from_logarithms(sum);
}

}  // namespace ddpsim::calibrate
