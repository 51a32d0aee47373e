#include "sim/nccl/curve.hpp"

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

Communicator with_reference_constants(Communicator communicator) {
  communicator.version = {2, 30, 7};
  return communicator;
}

// The protocol of middling messages: LL128 where NCCL has it.
const Candidate* middling(const Tuner& tuner, Algorithm algorithm) {
  for (auto protocol : {Protocol::ll128, Protocol::ll, Protocol::simple})
    if (const auto* candidate = tuner.find(algorithm, protocol)) return candidate;
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

}  // namespace

CurveShape::CurveShape(const Communicator& communicator, const Allowed& allowed)
    : reference_(with_reference_constants(communicator), {}) {
  auto tuner = require_candidates(Tuner(reference_.communicator(), allowed));
  // Across nodes rings have a curve of their own.
  const auto* nvls_tree = tuner.find(Algorithm::nvls_tree, Protocol::simple);
  large_algorithm_ = nvls_tree ? nvls_tree->algorithm : largest_bandwidth(tuner.candidates()).algorithm;
  usual_large_algorithm_ = largest_bandwidth(reference_.candidates()).algorithm;
  if (!across_nodes()) low_until_ = end_of_low(reference_, *reference_.find(Algorithm::ring, Protocol::ll));
}

Seconds CurveShape::latency(Algorithm algorithm) const {
  if (!across_nodes())
    return std::max(reference_.find(Algorithm::ring, Protocol::ll)->latency, kLeastBulkLatency);
  auto ring = middling(reference_, Algorithm::ring)->latency,
       tree = middling(reference_, Algorithm::tree)->latency;
  // Small messages of an NVLS communicator go over a ring or a tree.
  return algorithm == Algorithm::ring ? ring : algorithm == Algorithm::tree ? tree : std::min(ring, tree);
}

BytesPerSecond CurveShape::bandwidth(Algorithm algorithm) const {
  BytesPerSecond widest;
  for (const auto& candidate : reference_.candidates())
    if (candidate.algorithm == algorithm) widest = std::max(widest, candidate.rate);
  return widest;
}

double CurveShape::depth(Algorithm algorithm) const {
  const auto& c = reference_.communicator();
  bool visits_all = algorithm == Algorithm::ring || algorithm == Algorithm::tree;
  return 1 + std::log2(across_nodes() ? c.nodes : visits_all ? c.ranks : 1);
}

Seconds CurveShape::low(const Curve& curve, const Candidate& candidate, Bytes bytes) const {
  bool ring_in_node = candidate.algorithm == Algorithm::ring && !across_nodes();
  auto bandwidth_time = reference_.time(candidate, bytes) - candidate.latency;
  if (ring_in_node) bandwidth_time = bandwidth_time / kLowGain;
  // What slows large messages (no peer-to-peer, a slow network) slows small ones as well.
  double efficiency = std::min(1.0, curve.efficiency);
  return curve.latency_scale * candidate.latency + bandwidth_time / efficiency;
}

Seconds CurveShape::time(const Curve& curve, const Candidate& candidate, Bytes bytes, bool floored) const {
  if (candidate.protocol == Protocol::ll)
    return low(curve, *reference_.find(candidate.algorithm, Protocol::ll), bytes);
  Seconds bulk = curve.latency_scale * latency(candidate.algorithm) +
                 bytes / (curve.efficiency * bandwidth(candidate.algorithm)) +
                 depth(candidate.algorithm) * std::log1p(bytes / kRampSize) * curve.ramp;
  if (!floored || low_until_ <= Bytes(0)) return bulk;
  return std::max(bulk, low(curve, *reference_.find(Algorithm::ring, Protocol::ll), low_until_));
}

}  // namespace ddpsim::nccl
