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
  if (is_chain(collective.operation)) collective.operation = Operation::all_gather;
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

std::string_view class_text(NodeClass node_class) {
  switch (node_class) {
    case NodeClass::ampere:
      return "class A100, not this machine";
    case NodeClass::hopper:
      return "class H100, not this machine";
    case NodeClass::blackwell:
      return "class B300, not this machine";
    case NodeClass::grace_blackwell:
      return "class GB300, not this machine";
    case NodeClass::unknown:
      return "mean of the classes A100, H100 and B300";
  }
  return "?";
}

// Of what all rings get of their narrowest links between nodes.
double ring_share(int nodes) {
  if (nodes == 1) return 1;
  double fall = (1 + 2 * kFallADoubling) / (1 + kFallADoubling * std::log2(nodes));
  return std::min(1.0, kRingAtFourNodes * fall);
}

// A ring falls with the nodes beyond those it was fitted to as uncalibrated ones do.
Curve curve_at(const Calibration::Entry& entry, int nodes) {
  auto curve = entry.curve;
  if (entry.algorithm == Algorithm::ring && entry.nodes > 0 && nodes > entry.nodes)
    curve.efficiency *= ring_share(nodes) / ring_share(entry.nodes);
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

BytesPerSecond ring_busbw(const Communicator& communicator) {
  // Within a node only: two nodes of two A100s on PCIe show none of it
  // (measurements/cesga_4xA100-PCIe_2nodes.csv).
  bool is_pcie = communicator.nodes == 1 && !communicator.nvlink;
  return (is_pcie ? kPcieShare : ring_share(communicator.nodes)) * communicator.ring_peak;
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
  if (is_nvlink_node(communicator)) {
    lines_ = node_lines(calibration, class_of(communicator), operation_);
    if (allowed.symmetric)
      symmetric_.emplace(communicator, collective,
                         node_lines(calibration, class_of(communicator), Operation::all_reduce).ring);
  } else {
    shape_.emplace(physical_.communicator(), operation_ == Operation::all_reduce ? allowed : Allowed{});
  }
}

Algorithm CostModel::curve_of(const Candidate& candidate) const {
  // Within a node ring/LL was fitted with what carries the machine's large messages.
  bool is_low = communicator().nodes == 1 && candidate.algorithm == Algorithm::ring &&
                candidate.protocol == Protocol::ll && operation_ == Operation::all_reduce;
  return is_low ? shape_->usual_large_algorithm() : candidate.algorithm;
}

const Calibration::Entry* CostModel::curve(const Candidate& candidate) const {
  // Of other operations only their rings are like an all-reduce's.
  if (operation_ != Operation::all_reduce && candidate.algorithm != Algorithm::ring) return nullptr;
  // Nobody measured a network that reduces.
  if (is_collnet(candidate.algorithm, communicator().nodes)) return nullptr;
  return calibration_.best_for(curve_of(candidate), communicator().nodes > 1);
}

TimesFrom CostModel::times_from(const Candidate& candidate) const {
  if (is_symmetric(candidate.algorithm)) return TimesFrom::symmetric;
  auto known = [this](TimesFrom from, int largest_ranks) {
    bool is_larger = largest_ranks > 0 && communicator().ranks > largest_ranks;
    return is_larger ? TimesFrom::fewer_gpus : from;
  };
  if (lines_) {
    if (lines_->from == LinesFrom::node_class) return TimesFrom::node_class;
    return known(lines_->from == LinesFrom::own ? TimesFrom::own : TimesFrom::other_operation,
                 lines_->largest_ranks);
  }
  if (const auto* entry = curve(candidate)) {
    if (operation_ != Operation::all_reduce) return known(TimesFrom::other_operation, entry->largest_ranks);
    return known(entry->algorithm == curve_of(candidate) ? TimesFrom::own : TimesFrom::other_algorithm,
                 entry->largest_ranks);
  }
  return candidate.algorithm == Algorithm::ring ? TimesFrom::links : TimesFrom::tuner;
}

std::string_view source_text(TimesFrom source, const Communicator& communicator) {
  switch (source) {
    case TimesFrom::own:
      return "calibrated";
    case TimesFrom::other_algorithm:
      return "calibrated for another algorithm";
    case TimesFrom::other_operation:
      return "calibrated for another operation";
    case TimesFrom::fewer_gpus:
      return "calibrated on fewer GPUs";
    case TimesFrom::node_class:
      return class_text(class_of(communicator));
    case TimesFrom::links:
      return "what the links give";
    case TimesFrom::tuner:
      return "NCCL's own estimate";
    case TimesFrom::symmetric:
      return "NCCL's own estimate, uncalibrated";
  }
  return "?";
}

std::string_view CostModel::source_of(const Candidate& candidate) const {
  return source_text(times_from(candidate), communicator());
}

std::string_view kind_name(TimesFrom source) {
  switch (source) {
    case TimesFrom::node_class:
      return "class";
    case TimesFrom::links:
      return "links";
    case TimesFrom::tuner:
    case TimesFrom::symmetric:
      return "tuner";
    default:
      return "calibrated";
  }
}

// Trees inside an NVLink node nobody measured: what they are of a ring by the tuner's count.
Seconds CostModel::on_lines(const Candidate& candidate, Bytes bytes) const {
  if (auto known = line_time(lines_->ring, candidate, communicator(), operation_, bytes)) return *known;
  auto ring = ring_line(lines_->ring, candidate.protocol, message_of(communicator(), operation_, bytes));
  const auto* like = physical_.find(Algorithm::ring, candidate.protocol);
  if (!like) return ring;
  auto counted = [bytes](const Candidate& one) { return one.latency + bytes / one.rate; };
  return ring * (counted(candidate) / counted(*like));
}

// Of an operation that takes so many of an all-reduce's steps.
Seconds CostModel::on_curve(const Calibration::Entry& entry, const Candidate& candidate, Bytes bytes) const {
  double share = 1.0 * ring_steps(operation_, communicator().ranks) /
                 ring_steps(Operation::all_reduce, communicator().ranks);
  bool is_all_reduce = operation_ == Operation::all_reduce;
  return share * shape_->time(curve_at(entry, communicator().nodes), candidate, bytes, is_all_reduce);
}

Seconds CostModel::over_links(const Candidate& candidate, Bytes bytes) const {
  const auto* counted = physical_.find(candidate.algorithm, candidate.protocol);
  DDPSIM_CHECK(counted, "whatever is picked is possible");
  double sent = 1.0 * ring_steps(operation_, communicator().ranks) / communicator().ranks;
  auto busbw = ring_busbw(communicator());
  // No more than a node by itself was measured to let through.
  const auto* node = communicator().nvlink ? nullptr : calibration_.find(Algorithm::ring, false);
  if (node && communicator().node_peak > BytesPerSecond(0))
    busbw = std::min(busbw, node->efficiency * communicator().node_peak);
  auto moved = sent * bytes / busbw;
  if (candidate.protocol != Protocol::simple) moved = std::max(moved, bytes / counted->rate);
  return counted->latency + moved;
}

Seconds CostModel::time(const Candidate& candidate, Bytes bytes) const {
  if (is_symmetric(candidate.algorithm)) return symmetric_->time(candidate, bytes);
  if (lines_) return on_lines(candidate, bytes);
  if (const auto* entry = curve(candidate)) return on_curve(*entry, candidate, bytes);
  if (candidate.algorithm == Algorithm::ring) return over_links(candidate, bytes);
  const auto* counted = physical_.find(candidate.algorithm, candidate.protocol);
  return counted ? physical_.time(*counted, bytes) : tuner_.time(candidate, bytes);
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
