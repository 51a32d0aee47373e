#include "sim/nccl/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

// Of the network's bandwidth at four nodes, and how it falls with each doubling of nodes: fitted to the six
// reduce-scatters of issue 1229 (1.0 % off them).
constexpr double kRingAtFourNodes = 0.935, kFallADoubling = 0.102;
constexpr double kPcieShare = 0.55;

Communicator with_message_latency(Communicator communicator) {
  communicator.tuner_nic_latency = beyond_infiniband(communicator);
  return communicator;
}

// A chain has a ring's hops, each once; what the tuner counts of broadcasts is there to choose.
Collective as_counted(Collective collective) {
  collective.operation = measured_as(collective.operation);
  return collective;
}

void check_kind(const Communicator& communicator, const Calibration& calibration) {
  if (!is_nvlink_node(communicator)) return;
  for (const auto& entry : calibration.entries)
    if (!entry.across_nodes)
      throw InputError(
          entry.place,
          "the calibration has a curve for all-reduces within a node, where NVLink machines have lines",
          "fit it again with 'ddpsim calibrate', or remove that curve");
}

// A ring falls with the nodes beyond those it was fitted to as uncalibrated ones do.
Curve curve_at(const Calibration::Entry& entry, int nodes) {
  auto curve = entry.curve;
  if (entry.algorithm == Algorithm::ring && entry.nodes > 0 && nodes > entry.nodes)
    curve.efficiency *= network_share(nodes) / network_share(entry.nodes);
  return curve;
}

LineMessage message_of(const Communicator& communicator, Operation operation, Bytes bytes) {
  BytesPerSecond link = communicator.nvlink_peak;
  return {communicator.ranks, ring_steps(operation, communicator.ranks), bytes, link, link,
          is_chain(operation)};
}

}  // namespace

Seconds beyond_infiniband(const Communicator& communicator) {
  return std::max(Seconds(0), communicator.nic_latency - kInfiniBandLatency);
}

double network_share(int nodes) {
  if (nodes == 1) return 1;
  double fall = (1 + 2 * kFallADoubling) / (1 + kFallADoubling * std::log2(nodes));
  return std::min(1.0, kRingAtFourNodes * fall);
}

double pcie_share(const Communicator& communicator, const Calibration& calibration) {
  if (communicator.nvlink) return 1;
  const auto* measured = calibration.find(Algorithm::ring, false);
  return measured ? std::min(1.0, measured->efficiency) : kPcieShare;
}

std::optional<BytesPerSecond> pcie_busbw(const Communicator& communicator, const Calibration& calibration) {
  if (communicator.nvlink) return std::nullopt;
  auto share = pcie_share(communicator, calibration);
  if (communicator.nodes == 1) return share * communicator.ring_peak;
  // Of two GPUs a node one sends to the other and none both sends and receives there: 0.55 is of both ways at
  // once, and two nodes of two A100s show none of it (measurements/cesga_4xA100-PCIe_2nodes.csv).
  bool is_measured = calibration.find(Algorithm::ring, false);
  bool is_both_ways = communicator.ranks > 2 * communicator.nodes;
  if (communicator.node_peak == BytesPerSecond(0) || !(is_measured || is_both_ways)) return std::nullopt;
  return share * communicator.node_peak;
}

BytesPerSecond ring_busbw(const Communicator& communicator, const Calibration& calibration) {
  auto network = network_share(communicator.nodes) * communicator.ring_peak;
  return std::min(network, pcie_busbw(communicator, calibration).value_or(network));
}

std::optional<Seconds> line_time(const RingLines& lines, const Candidate& pick,
                                 const Communicator& communicator, Operation operation, Bytes bytes) {
  auto message = message_of(communicator, operation, bytes);
  if (pick.algorithm == Algorithm::ring) return ring_line(lines, pick.protocol, message);
  if (pick.algorithm != Algorithm::nvls) return std::nullopt;
  auto generation = static_cast<std::size_t>(generation_of(communicator.gpu));
  return nvls_line(lines, constants(kNewestVersion).nvls_efficiency[generation], message);
}

CostModel::CostModel(const Communicator& communicator, const Allowed& allowed, const Calibration& calibration,
                     Collective collective)
    : operation_(collective.operation),
      tuner_(require_candidates(Tuner(communicator, allowed, collective))),
      physical_(with_message_latency(communicator), allowed, as_counted(collective)),
      calibration_(calibration) {
  if (allowed.symmetric) require_symmetric(communicator, allowed);
  check_kind(communicator, calibration);
  // Rings that reduce all across nodes were measured, and are faster than the lines have them within one:
  // those are of two to four GPUs, beyond which NVLS takes large messages
  // (measurements/nccltests_issue309_B_16xH100_IB400_RING_MINCTAS24_QPS2.csv,
  // coreweave_GB200_128gpu_2rack.csv).
  bool has_lines = is_nvlink_node(communicator) || !has_curves(operation_);
  if (has_lines && communicator.nvlink && communicator.nvlink_peak > BytesPerSecond(0))
    lines_ = node_lines(calibration, class_of(communicator), operation_);
  if (!is_nvlink_node(communicator))
    shape_.emplace(physical_.communicator(), has_curves(operation_) ? allowed : Allowed{});
  else if (allowed.symmetric)
    symmetric_.emplace(communicator, collective,
                       node_lines(calibration, class_of(communicator), Operation::all_reduce).ring);
}

Algorithm CostModel::curve_of(const Candidate& candidate) const {
  // Within a node ring/LL was fitted with what carries the machine's large messages.
  bool is_low = communicator().nodes == 1 && candidate.algorithm == Algorithm::ring &&
                candidate.protocol == Protocol::ll && has_curves(operation_);
  return is_low ? shape_->usual_large_algorithm() : candidate.algorithm;
}

const Calibration::Entry* CostModel::curve(const Candidate& candidate) const {
  // Of other operations only their rings are like an all-reduce's.
  if (!has_curves(operation_) && candidate.algorithm != Algorithm::ring) return nullptr;
  // Nobody measured a network that reduces.
  if (is_collnet(candidate.algorithm, communicator().nodes)) return nullptr;
  return calibration_.best_for(curve_of(candidate), communicator().nodes > 1);
}

TimesFrom CostModel::times_from(const Candidate& candidate, Bytes bytes) const {
  if (is_symmetric(candidate.algorithm)) return TimesFrom::symmetric;
  int ranks = communicator().ranks;
  if (!shape_)
    return times_on_ring_lines(*lines_, ranks, bytes,
                               [&](const RingLines& lines) { return on_lines(lines, candidate, bytes); });
  if (const auto* entry = curve(candidate)) {
    auto from = !has_curves(operation_)                   ? TimesFrom::other_operation
                : entry->algorithm == curve_of(candidate) ? TimesFrom::own
                                                          : TimesFrom::other_algorithm;
    return measured_times(from, entry->fitted_to, ranks, bytes);
  }
  if (candidate.algorithm != Algorithm::ring) return TimesFrom::tuner;
  if (!lines_ || moved_over_links(candidate, bytes) >= moved_in_nodes(lines_->ring, candidate, bytes))
    return TimesFrom::links;
  return times_on_ring_lines(*lines_, ranks, bytes,
                             [&](const RingLines& lines) { return moved_in_nodes(lines, candidate, bytes); });
}

std::string_view CostModel::source_of(const Candidate& candidate, Bytes bytes) const {
  return source_text(times_from(candidate, bytes), communicator());
}

// Trees inside an NVLink node nobody measured: what they are of a ring by the tuner's count.
Seconds CostModel::on_lines(const RingLines& lines, const Candidate& candidate, Bytes bytes) const {
  if (auto known = line_time(lines, candidate, communicator(), operation_, bytes)) return *known;
  auto ring = ring_line(lines, candidate.protocol, message_of(communicator(), operation_, bytes));
  const auto* like = physical_.find(Algorithm::ring, candidate.protocol);
  if (!like) return ring;
  auto counted = [bytes](const Candidate& one) { return one.latency + bytes / one.rate; };
  return ring * (counted(candidate) / counted(*like));
}

// Of an operation that takes so many of an all-reduce's steps.
Seconds CostModel::on_curve(const Calibration::Entry& entry, const Candidate& candidate, Bytes bytes) const {
  auto curve = curve_at(entry, communicator().nodes);
  return share_of_all_reduce(operation_, communicator().ranks) *
         shape_->time(curve, candidate, bytes, has_curves(operation_));
}

Seconds CostModel::moved_over_links(const Candidate& candidate, Bytes bytes) const {
  double sent = 1.0 * ring_steps(operation_, communicator().ranks) / communicator().ranks;
  auto moved = sent * bytes / ring_busbw(communicator(), calibration_);
  if (candidate.protocol == Protocol::simple) return moved;
  return std::max(moved, bytes / physical_.find(candidate.algorithm, candidate.protocol)->rate);
}

// A pipeline is no faster than its slowest hop, and those inside the nodes are the same kernels over the same
// NVLink as in one node alone.
Seconds CostModel::moved_in_nodes(const RingLines& lines, const Candidate& candidate, Bytes bytes) const {
  return ring_transfer(lines, candidate.protocol, message_of(communicator(), operation_, bytes));
}

Seconds CostModel::over_links(const Candidate& candidate, Bytes bytes) const {
  const auto* counted = physical_.find(candidate.algorithm, candidate.protocol);
  DDPSIM_CHECK(counted, "whatever is picked is possible");
  auto moved = moved_over_links(candidate, bytes);
  if (lines_) moved = std::max(moved, moved_in_nodes(lines_->ring, candidate, bytes));
  return counted->latency + moved;
}

Seconds CostModel::as_tuner_counts(const Candidate& candidate, Bytes bytes) const {
  const auto* counted = physical_.find(candidate.algorithm, candidate.protocol);
  if (!counted) return tuner_.time(candidate, bytes);
  auto time = physical_.time(*counted, bytes);
  auto pcie = pcie_busbw(communicator(), calibration_);
  if (!pcie) return time;
  // A tree's chains within the nodes carry as much as a ring does.
  double sent = 1.0 * ring_steps(operation_, communicator().ranks) / communicator().ranks;
  return std::max(time, counted->latency + sent * bytes / *pcie);
}

Seconds CostModel::time(const Candidate& candidate, Bytes bytes) const {
  if (is_symmetric(candidate.algorithm)) return symmetric_->time(candidate, bytes);
  if (!shape_) return on_lines(lines_->ring, candidate, bytes);
  if (const auto* entry = curve(candidate)) return on_curve(*entry, candidate, bytes);
  if (candidate.algorithm == Algorithm::ring) return over_links(candidate, bytes);
  return as_tuner_counts(candidate, bytes);
}

BytesPerSecond CostModel::bandwidth(Algorithm algorithm) const {
  constexpr Bytes kLarge(1e15);
  BytesPerSecond widest;
  for (const auto& candidate : candidates()) {
    if (candidate.algorithm != algorithm) continue;
    widest = std::max(widest, kLarge / (time(candidate, 2 * kLarge) - time(candidate, kLarge)));
  }
  return widest;
}

CostModel::Choice CostModel::choose(Bytes bytes) const {
  if (symmetric_)
    if (auto choice = symmetric_->choose(bytes)) return {choice->candidate, choice->time, choice->blocks};
  const auto& candidate = tuner_.choose(bytes);
  return {&candidate, time(candidate, bytes), candidate.channels};
}

}  // namespace ddpsim::nccl
