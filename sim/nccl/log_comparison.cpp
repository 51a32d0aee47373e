#include "sim/nccl/log_comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

const LoggedCommunicator& of_ranks(const DebugLog& log, int ranks) {
  for (const auto& one : log.communicators)
    if (one.ranks == ranks) return one;
  std::vector<int> there;
  for (const auto& one : log.communicators) there.push_back(one.ranks);
  throw InputError(
      log.communicators.front().place,
      fmt::format("no communicator of {} ranks is in the log, but of {}", ranks, fmt::join(there, ", ")),
      fmt::format("--world-size {}", there.front()));
}

std::string joined(const std::set<std::string>& words) {
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

ComparedRow release_row(const Communicator& c, const DebugLog& log) {
  ComparedRow row{"release", name(c.version), log.version ? name(*log.version) : "-"};
  row.differs = log.version && *log.version != c.version;
  if (!row.differs) return row;
  bool is_known = std::find(kReleases.begin(), kReleases.end(), *log.version) != kReleases.end();
  row.why = is_known ? fmt::format("--nccl-version {}", name(*log.version))
                     : fmt::format("not among the releases that are modelled, {} to {}", name(kOldestVersion),
                                   name(kNewestVersion));
  return row;
}

ComparedRow shape_row(const Communicator& c, const LoggedCommunicator& log) {
  auto text = [](int ranks, int nodes) { return fmt::format("{} on {}", ranks, counted(nodes, "node")); };
  ComparedRow row{"ranks", text(c.ranks, c.nodes),
                  log.nodes > 0 ? text(log.ranks, log.nodes) : fmt::format("{}", log.ranks)};
  row.differs = log.nodes > 0 && log.nodes != c.nodes;
  if (row.differs) row.why = "ranks sit on other nodes than the topology's";
  return row;
}

ComparedRow channels_row(const Communicator& c, const LoggedCommunicator& log) {
  int predicted = printed_channels(c);
  ComparedRow row{"channels", fmt::format("{}", predicted),
                  log.channels > 0 ? fmt::format("{}", log.channels) : "-"};
  row.differs = log.channels > 0 && log.channels != predicted;
  if (row.differs)
    row.why = log.channels < predicted
                  ? "fewer or slower links than described, or NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS"
                  : "more or faster links than described, or NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS";
  return row;
}

ComparedRow orders_row(const Communicator& c, int ring_orders, const LoggedCommunicator& log) {
  std::set<std::vector<int>> orders;
  for (const auto& [channel, ring] : log.rings) orders.insert(ring);
  int predicted = c.ring.found ? ring_orders : 1;
  ComparedRow row{"different rings", fmt::format("{}", predicted),
                  orders.empty() ? "-" : fmt::format("{}", orders.size())};
  // Within a node of switches any order is as good; across nodes each enters by a NIC of its own.
  row.differs = !orders.empty() && c.nodes > 1 && static_cast<int>(orders.size()) != predicted;
  if (row.differs)
    row.why = static_cast<int>(orders.size()) < predicted
                  ? "fewer NICs carry rings than described (NCCL_IB_HCA?)"
                  : "more NICs carry rings than described";
  return row;
}

ComparedRow within_row(const Communicator& c, const LoggedCommunicator& log) {
  ComparedRow row{"within a node", c.ranks == c.nodes ? "-" : "P2P", joined(log.within)};
  if (c.pcie && c.pcie->through_host()) row.predicted = "SHM";
  auto has = [&](std::string_view kind) {
    return std::any_of(log.within.begin(), log.within.end(),
                       [&](const auto& one) { return one.starts_with(kind); });
  };
  row.differs = row.predicted != "-" && !log.within.empty() && !has(row.predicted);
  if (row.differs)
    row.why = row.predicted == "P2P"
                  ? "GPUs do not reach one another: NCCL_P2P_LEVEL, NCCL_P2P_DISABLE, IOMMU or ACS; "
                    "cluster.interconnect.peer_to_peer describes it"
                  : "GPUs reach one another: cluster.interconnect.peer_to_peer describes it";
  else if (row.predicted == "P2P" && has("SHM")) {
    row.differs = true;
    row.why = "between some GPUs through host memory";
  }
  if (c.ranks > c.nodes && c.nodes == 1 && !log.between.empty()) {
    row.differs = true;
    row.logged = joined(log.between);
    row.why = "ranks of one node go over the network: are they in different containers or hosts?";
  }
  return row;
}

ComparedRow between_row(const Communicator& c, const LoggedCommunicator& log) {
  ComparedRow row{"between nodes",
                  c.sockets       ? "NET/Socket"
                  : c.direct_nics ? "RDMA, GPUDirect"
                                  : "RDMA, no GPUDirect",
                  joined(log.between)};
  if (log.between.empty()) return row;
  if (!log.nics.empty())
    row.logged += fmt::format(" of {}", counted(static_cast<int>(log.nics.size()), "NIC"));
  if (log.has_gpudirect) row.logged += ", GPUDirect";
  bool sockets = log.between.contains("NET/Socket");
  if (sockets != c.sockets.has_value()) {
    row.differs = true;
    row.why = sockets ? "NCCL found no RDMA: nccl: {transport: socket} describes it"
                      : "nccl: {transport: rdma} describes it";
  } else if (!sockets && log.has_gpudirect != c.direct_nics) {
    row.differs = true;
    row.why = log.has_gpudirect ? "nccl: {gpudirect: true} describes it"
                                : "NICs do not read GPUs' memory: nccl: {gpudirect: false} describes it";
  }
  return row;
}

ComparedRow multicast_row(const Communicator& c, const LoggedCommunicator& log) {
  auto text = [](bool has) { return has ? "yes" : "no"; };
  ComparedRow row{"NVLS", text(c.nvls.has_value()), log.multicast ? text(*log.multicast) : "-"};
  // Two GPUs a node have a switch, but no use for it.
  row.differs = log.multicast && *log.multicast != c.nvls.has_value() && c.ranks > 2 * c.nodes;
  if (row.differs)
    row.why = c.nvls
                  ? "switches do not multicast: NCCL_NVLS_ENABLE=0, a virtual machine or its fabric manager; "
                    "interconnect: {multicast: false} describes it"
                  : "interconnect: {kind: nvswitch, multicast: true} describes it";
  return row;
}

void add_graph(std::string_view what, int pattern, const Graph& graph, bool across,
               const LoggedCommunicator& log, std::vector<ComparedRow>& rows) {
  auto found = std::find_if(log.graphs.begin(), log.graphs.end(),
                            [&](const LoggedGraph& one) { return one.pattern == pattern; });
  if (found == log.graphs.end()) return;
  auto text = [&](int channels, double intra, double inter) {
    return fmt::format("{} of {:.4g}{} GB/s", channels, intra, across ? fmt::format("/{:.4g}", inter) : "");
  };
  ComparedRow row{what, text(graph.channels, graph.intra, graph.inter),
                  text(found->channels, found->intra, found->inter)};
  row.differs = row.predicted != row.logged;
  if (row.differs) row.why = "links are faster or slower than described";
  rows.push_back(std::move(row));
}

}  // namespace

int printed_channels(const Communicator& c) {
  int most = constants(c.version).max_channels;
  int channels = std::min(most, 2 * c.ring.channels);
  // connect.cc: "Use 4 compute channels per search channel to reach peak BW on <8 PPN".
  constexpr double kFast = 45;
  if (c.gpu >= Gpu::hopper && c.nodes > 1 && c.ring.intra > kFast && channels < 16) channels *= 2;
  return channels;
}

std::vector<ComparedRow> compare_with_log(const Communicator& c, int ring_orders, const DebugLog& log) {
  const auto& logged = of_ranks(log, c.ranks);
  std::vector<ComparedRow> rows{release_row(c, log), shape_row(c, logged), channels_row(c, logged),
                                orders_row(c, ring_orders, logged)};
  bool across = c.nodes > 1;
  add_graph("search: rings", kRingPattern, c.ring, across, logged, rows);
  if (c.nvls) add_graph("search: NVLS", kNvlsPattern, *c.nvls, across, logged, rows);
  if (c.ranks > c.nodes || !logged.within.empty()) rows.push_back(within_row(c, logged));
  if (across || !logged.between.empty()) rows.push_back(between_row(c, logged));
  rows.push_back(multicast_row(c, logged));
  if (c.nodes > 2) {
    ComparedRow row{"trees", c.plain_tree ? "through one GPU a node" : "through two GPUs a node", "-"};
    if (logged.has_balanced_trees) {
      row.logged = *logged.has_balanced_trees ? "through two GPUs a node" : "through one GPU a node";
      row.differs = *logged.has_balanced_trees == c.plain_tree && c.ranks > c.nodes;
      if (row.differs) row.why = "NICs are nearer to other GPUs than described";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ddpsim::nccl
