#include "sim/nccl/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim::nccl {
namespace {

const RingLines& of_class(const ClassLines& lines, Operation measured) {
  if (!reduces(measured)) return lines.all_gather;
  return is_in_parts(measured) ? lines.reduce_scatter : lines.all_reduce;
}

RingLines as_all_reduce_is(RingLines lines, const RingLines& own, const RingLines& of_class) {
  for (const auto& parameter : kRingParameters)
    lines.*parameter.value *= own.*parameter.value / (of_class.*parameter.value);
  return lines;
}

PeerLines as_all_reduce_is(PeerLines lines, const RingLines& own, const RingLines& of_class) {
  double latency = std::sqrt(own.ll_base / of_class.ll_base * own.ll_step / of_class.ll_step);
  double bandwidth =
      std::sqrt(own.simple_link / of_class.simple_link * own.simple_memory / of_class.simple_memory);
  for (double PeerLines::*value :
       {&PeerLines::ll_base, &PeerLines::ll_rank, &PeerLines::base, &PeerLines::rank})
    lines.*value *= latency;
  for (double PeerLines::*value :
       {&PeerLines::first_link, &PeerLines::first_memory, &PeerLines::link, &PeerLines::memory})
    lines.*value *= bandwidth;
  return lines;
}

// Of a machine's all-to-all, what follows from those of its all-reduce's: `as_all_reduce_is` scales latencies
// with LL's, bandwidths with Simple's.
std::vector<bool> peers_identified(const std::vector<bool>& of_all_reduce) {
  if (of_all_reduce.empty()) return {};
  auto any = [&](const std::vector<std::string_view>& names) {
    for (std::size_t p = 0; p < kRingParameters.size(); ++p)
      if (of_all_reduce[p] &&
          std::find(names.begin(), names.end(), kRingParameters.at(p).name) != names.end())
        return true;
    return false;
  };
  bool latency = any({"ll_base", "ll_step"}), bandwidth = any({"simple_link", "simple_memory"});
  std::vector<bool> identified;
  for (const auto& parameter : kPeerParameters)
    identified.push_back(parameter.is_latency ? latency : parameter.name != "ll_rate" && bandwidth);
  return identified;
}

}  // namespace

Operation measured_as(Operation operation) {
  if (is_chain(operation)) return Operation::all_gather;
  return is_pair(operation) || is_fan(operation) ? Operation::all_to_all : operation;
}

int largest_ranks(const std::vector<FittedRows>& tables) {
  int largest = 0;
  for (const auto& table : tables) largest = std::max(largest, table.ranks);
  return largest;
}

bool has_gpus(const std::vector<FittedRows>& tables, int gpus) {
  auto has_them = [&](const FittedRows& rows) {
    return rows.ranks == 0 || (rows.nodes == 1 && rows.ranks >= gpus);
  };
  return tables.empty() || std::any_of(tables.begin(), tables.end(), has_them);
}

bool has_size(const std::vector<FittedRows>& tables, Bytes bytes) {
  constexpr double kNearly = 4;
  // Whatever is smaller takes what these take.
  constexpr Bytes kSmallestThatDiffer(512);
  bytes = std::max(bytes, kSmallestThatDiffer);
  return tables.empty() || std::any_of(tables.begin(), tables.end(), [&](const FittedRows& table) {
           return table.smallest <= kNearly * bytes && bytes <= kNearly * table.largest;
         });
}

const Curve* Calibration::find(Algorithm algorithm, bool across_nodes) const {
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.algorithm == algorithm && e.across_nodes == across_nodes;
  });
  return entry == entries.end() ? nullptr : &entry->curve;
}

const Calibration::Entry* Calibration::best_for(Algorithm algorithm, bool across_nodes) const {
  const Entry* other = nullptr;
  for (const auto& entry : entries) {
    if (entry.across_nodes != across_nodes) continue;
    if (entry.algorithm == algorithm) return &entry;
    if (across_nodes && algorithm != Algorithm::ring && !other) other = &entry;
  }
  return other;
}

const Calibration::NodeEntry* Calibration::in_node(Operation operation) const {
  auto entry =
      std::find_if(node.begin(), node.end(), [&](const auto& one) { return one.operation == operation; });
  return entry == node.end() ? nullptr : &*entry;
}

std::vector<std::string> identified_names(const Calibration::NodeEntry& entry) {
  std::vector<std::string> names;
  auto add = [&](const auto& parameters) {
    for (std::size_t p = 0; p < parameters.size(); ++p)
      if (entry.identified.empty() || entry.identified[p]) names.emplace_back(parameters[p].name);
  };
  if (sends_directly(entry.operation))
    add(kPeerParameters);
  else
    add(kRingParameters);
  return names;
}

NodeLines node_lines(const Calibration& calibration, NodeClass node_class, Operation operation) {
  auto measured = measured_as(operation);
  const auto& known = class_lines(node_class);
  if (const auto* own = calibration.in_node(measured)) {
    auto from = is_chain(operation) ? LinesFrom::other_operation : LinesFrom::own;
    return {own->ring, own->peers, from, own->fitted_to, own->identified, own->identified};
  }
  NodeLines lines{of_class(known, measured), known.all_to_all};
  if (const auto* all_reduce = calibration.in_node(Operation::all_reduce)) {
    lines.ring = as_all_reduce_is(lines.ring, all_reduce->ring, known.all_reduce);
    lines.peers = as_all_reduce_is(lines.peers, all_reduce->ring, known.all_reduce);
    lines.from = LinesFrom::other_operation;
    lines.fitted_to = all_reduce->fitted_to;
    lines.ring_identified = all_reduce->identified;
    lines.peers_identified = peers_identified(all_reduce->identified);
  }
  return lines;
}

}  // namespace ddpsim::nccl
