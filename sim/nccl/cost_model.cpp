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
// Of links that are neither NVLink nor PCIe, or of a ring that NCCL's search did not find.
constexpr double kUnknownShare = 0.55;

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

bool is_of_network(const Calibration& calibration, const Communicator& communicator) {
  return communicator.nodes == 1 || !communicator.sockets || calibration.network.empty() ||
         calibration.network == "ethernet";
}

Communicator with_measured_pcie(Communicator communicator, const Calibration& calibration) {
  if (communicator.nvlink) return communicator;
  auto is_ring = [](const auto& entry) { return entry.algorithm == Algorithm::ring && !entry.across_nodes; };
  auto entry = std::find_if(calibration.entries.begin(), calibration.entries.end(), is_ring);
  int gpus = communicator.pcie ? communicator.pcie->gpus : communicator.ranks / communicator.nodes;
  if (entry == calibration.entries.end() || !has_gpus(entry->fitted_to, gpus)) return communicator;
  if (!communicator.pcie) communicator.pcie.emplace();
  auto& pcie = *communicator.pcie;
  pcie.is_measured = true;
  pcie.share = pcie.memory_share = std::min(1.0, entry->curve.efficiency);
  pcie.flow = {};
  pcie.ring = pcie.share * (communicator.nodes == 1 ? communicator.ring_peak : communicator.node_peak);
  return communicator;
}

std::optional<BytesPerSecond> pcie_busbw(const Communicator& communicator) {
  if (communicator.nvlink) return std::nullopt;
  if (communicator.nodes == 1 && !communicator.pcie) return kUnknownShare * communicator.ring_peak;
  // Of two GPUs a node one sends to the other and none both sends and receives there: the shares are of both
  // ways at once, and two nodes of two A100s show none of them (measurements/cesga_4xA100-PCIe_2nodes.csv).
  bool is_both_ways = communicator.nodes == 1 || communicator.ranks > 2 * communicator.nodes;
  const auto& pcie = communicator.pcie;
  if (!pcie || pcie->ring == BytesPerSecond(0)) return std::nullopt;
  if (pcie->is_measured || is_both_ways) return pcie->ring;
  return pcie->is_interleaved() ? std::optional(pcie->flow) : std::nullopt;
}

BytesPerSecond ring_busbw(const Communicator& communicator) {
  const auto& c = communicator;
  auto pcie = pcie_busbw(c);
  if (c.nodes == 1) return pcie.value_or(c.ring_peak);
  // Of links between nodes alone, where PCIe has its own say.
  auto peak = c.pcie && c.network_peak > BytesPerSecond(0) ? c.network_peak : c.ring_peak;
  auto network = c.sockets ? c.network_limit : network_share(c.nodes) * peak;
  if (c.network_limit > BytesPerSecond(0)) network = std::min(network, c.network_limit);
  return std::min(network, pcie.value_or(network));
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
      tuner_(require_candidates(Tuner(with_measured_pcie(communicator, calibration), allowed, collective))),
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
  if (!is_of_network(calibration_, communicator())) return nullptr;
  const auto* entry = calibration_.best_for(curve_of(candidate), communicator().nodes > 1);
  // What fewer GPUs share of PCIe says nothing of more.
  bool is_pcie = communicator().nodes == 1 && !communicator().nvlink;
  return entry && is_pcie && !has_gpus(entry->fitted_to, communicator().ranks) ? nullptr : entry;
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
  auto moved = sent * bytes / ring_busbw(communicator());
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
  const auto& c = communicator();
  double sent = 1.0 * ring_steps(operation_, c.ranks) / c.ranks;
  // A tree's chains within the nodes carry as much as a ring does, between two nodes half of it.
  if (auto pcie = pcie_busbw(c)) time = std::max(time, counted->latency + sent * bytes / *pcie);
  if (c.network_limit > BytesPerSecond(0))
    time = std::max(time,
                    counted->latency + (c.nodes == 2 ? std::min(1.0, sent) : sent) * bytes / c.network_limit);
  return time;
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
