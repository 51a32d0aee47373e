#include "sim/nccl/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::nccl {
namespace {

constexpr Bytes kRampSize(4 * 1048576.0);
constexpr Seconds kLeastBulkLatency(16e-6);  // of large messages within a node
constexpr double kLowGain = 1.25;            // LL is measured so much faster than the tuner has it
constexpr double kMemoryPasses = 3;          // over the buffer, beside what the links carry

Communicator with_reference_constants(Communicator communicator) {
  communicator.version = Version::v2_30_7;
  return communicator;
}

const Candidate* find(const Tuner& tuner, Algorithm algorithm, Protocol protocol) {
  const auto& all = tuner.candidates();
  auto found = std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) {
    return candidate.algorithm == algorithm && candidate.protocol == protocol;
  });
  return found == all.end() ? nullptr : &*found;
}

// The protocol of middling messages: LL128 where NCCL has it.
const Candidate* middling(const Tuner& tuner, Algorithm algorithm) {
  for (auto protocol : {Protocol::ll128, Protocol::ll, Protocol::simple})
    if (const auto* candidate = find(tuner, algorithm, protocol)) return candidate;
  return nullptr;
}

const Candidate& largest_bandwidth(const std::vector<Candidate>& candidates) {
  return *std::max_element(candidates.begin(), candidates.end(),
                           [](const auto& a, const auto& b) { return a.algbw < b.algbw; });
}

// Where the tuner leaves ring/LL for good: the smallest size at which another protocol overtakes it.
Bytes end_of_low(const Tuner& tuner, const Candidate& low) {
  auto first = Bytes(std::numeric_limits<double>::infinity());
  for (const auto& other : tuner.candidates()) {
    if (other.algorithm == Algorithm::tree || other.protocol == Protocol::ll || other.algbw <= low.algbw)
      continue;
    double gain = 1 / low.algbw.value() - 1 / other.algbw.value();  // seconds a byte
    first = std::min(first, Bytes((other.latency - low.latency).value() / gain));
  }
  return std::isfinite(first.value()) ? std::max(first, Bytes(0)) : Bytes(0);
}

Tuner require_candidates(Tuner tuner) {
  if (tuner.candidates().empty())
    throw InputError(
        "NCCL has no way to do that among these GPUs",
        "nvls needs NVLink switches that reduce (multicast: true), Hopper GPUs or newer, more than "
        "two of them a node, and the protocol simple");
  return tuner;
}

}  // namespace

const Curve* Calibration::find(Algorithm algorithm, bool across_nodes) const {
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.algorithm == algorithm && e.across_nodes == across_nodes;
  });
  return entry == entries.end() ? nullptr : &entry->curve;
}

const Curve* Calibration::best_for(Algorithm algorithm, bool across_nodes) const {
  if (const Curve* own = find(algorithm, across_nodes)) return own;
  auto other = std::find_if(entries.begin(), entries.end(), [](const Entry& e) { return e.across_nodes; });
  return across_nodes && other != entries.end() ? &other->curve : nullptr;
}

CurveShape::CurveShape(const Communicator& communicator, const Allowed& allowed)
    : tuner_(require_candidates(Tuner(with_reference_constants(communicator), allowed))) {
  const auto& large = largest_bandwidth(tuner_.candidates());
  algorithm_ = large.algorithm;
  if (communicator.nodes > 1)
    set_lines_across(large);
  else
    set_lines_within(communicator, large);
  bool visits_all = algorithm_ == Algorithm::ring || algorithm_ == Algorithm::tree;
  int hops = communicator.nodes > 1 ? communicator.nodes : visits_all ? communicator.ranks : 1;
  depth_ = 1 + std::log2(hops);
}

void CurveShape::set_lines_within(const Communicator& communicator, const Candidate& large) {
  Tuner all(tuner_.communicator(), {});
  const auto* ring_ll = nccl::find(all, Algorithm::ring, Protocol::ll);
  DDPSIM_CHECK(ring_ll, "there is always a ring");
  Line line{std::max(ring_ll->latency, kLeastBulkLatency), large.algbw};
  bool uses_rings = large.algorithm == Algorithm::ring && large.protocol != Protocol::ll;
  if (uses_rings && communicator.nvlink && communicator.nvlink_peak > BytesPerSecond(0)) {
    double n = communicator.ranks;
    double seconds_a_byte = 2 * (n - 1) / n / communicator.nvlink_peak.value() +
                            kMemoryPasses / communicator.memory_bandwidth.value();
    line.bandwidth = BytesPerSecond(1 / seconds_a_byte);
  }
  lines_ = {line};
  if (const auto* low = nccl::find(tuner_, Algorithm::ring, Protocol::ll)) {
    low_ = {low->latency, low->algbw * kLowGain};
    low_until_ = end_of_low(tuner_, *low);
  }
}

void CurveShape::set_lines_across(const Candidate& large) {
  Seconds shortest = large.latency;
  for (auto algorithm : {Algorithm::ring, Algorithm::tree}) {
    const auto* small = middling(tuner_, algorithm);
    if (!small) continue;
    shortest = std::min(shortest, small->latency);
    BytesPerSecond widest;
    for (const auto& candidate : tuner_.candidates())
      if (candidate.algorithm == algorithm) widest = std::max(widest, candidate.algbw);
    lines_.push_back({small->latency, widest});
  }
  // Small messages of an NVLS communicator go over a ring or a tree.
  if (large.algorithm == Algorithm::nvls_tree) lines_.push_back({shortest, large.algbw});
  std::sort(lines_.begin(), lines_.end(),
            [](const auto& a, const auto& b) { return a.bandwidth > b.bandwidth; });
}

Seconds CurveShape::low(const Curve& curve, Bytes bytes) const {
  // Over PCIe what slows large messages (no peer-to-peer, say) slows small ones as well.
  double efficiency = tuner_.communicator().nvlink ? 1 : std::min(1.0, curve.efficiency);
  return curve.latency_scale * low_.latency + bytes / (efficiency * low_.bandwidth);
}

Seconds CurveShape::low_across(const Curve& curve, Bytes bytes) const {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const auto& candidate : tuner_.candidates())
    if (candidate.protocol == Protocol::ll)
      least = std::min(least, tuner_.time(candidate, bytes) + (curve.latency_scale - 1) * candidate.latency);
  return least;
}

Seconds CurveShape::bulk(const Curve& curve, Bytes bytes) const {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const auto& line : lines_)
    least = std::min(least, curve.latency_scale * line.latency + bytes / (curve.efficiency * line.bandwidth));
  return least + depth_ * std::log1p(bytes / kRampSize) * curve.ramp;
}

Seconds CurveShape::time(const Curve& curve, Bytes bytes) const {
  if (tuner_.communicator().nodes > 1) return std::min(bulk(curve, bytes), low_across(curve, bytes));
  if (bytes <= low_until_) return low(curve, bytes);
  Seconds time = bulk(curve, bytes);
  return low_until_ > Bytes(0) ? std::max(time, low(curve, low_until_)) : time;
}

CostModel::CostModel(const Communicator& communicator, const Allowed& allowed, const Calibration& calibration)
    : tuner_(communicator, allowed), shape_(communicator, allowed) {
  DDPSIM_CHECK(!tuner_.candidates().empty(),
               "what is possible with one version's constants is with another's");
  if (const Curve* curve = calibration.best_for(shape_.algorithm(), communicator.nodes > 1)) curve_ = *curve;
}

CostModel::Choice CostModel::choose(Bytes bytes) const {
  const auto& candidate = tuner_.choose(bytes);
  return {&candidate, curve_ ? shape_.time(*curve_, bytes) : tuner_.time(candidate, bytes)};
}

}  // namespace ddpsim::nccl
