#pragma once
// What was measured of a machine: curves of its all-reduces across nodes or over PCIe, lines of any operation
// inside an NVLink node.
#include <string>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/source.hpp"
#include "sim/nccl/curve.hpp"
#include "sim/nccl/lines.hpp"

namespace ddpsim::nccl {

// A table that something was fitted to, and how far that is from its rows.
struct FittedRows {
  std::string table = {};
  int ranks = 0, nodes = 1, rows = 0;
  Bytes smallest = {}, largest = {};
  double mean_error = 0, worst_error = 0;  // shares
  int distrusted = 0;
};
int largest_ranks(const std::vector<FittedRows>& tables);  // 0: not known
// Whether rows inside a node are of at least as many GPUs; of no tables: they are.
bool has_gpus(const std::vector<FittedRows>& tables, int gpus);
// Whether a message is of a size that rows have, or nearly (a factor of four); of no tables: it is.
bool has_size(const std::vector<FittedRows>& tables, Bytes bytes);

// The operation whose lines inside a node stand for this one's. Nobody measured a broadcast or reduce: a ring
// cut open, which moves as an all-gather does. A send/recv is an all-to-all of two.
Operation measured_as(Operation operation);
inline bool has_lines(Operation operation) {
  return measured_as(operation) == operation;
}
// Whether curves are fitted to it; other operations take their share of an all-reduce's ring.
inline bool has_curves(Operation operation) {
  return operation == Operation::all_reduce;
}

struct Calibration {
  // By the algorithm that carries large messages, and whether it crosses nodes.
  struct Entry {
    Algorithm algorithm = Algorithm::ring;
    bool across_nodes = false;
    Curve curve;
    // The most nodes of those tables, beyond which a ring across nodes falls as its links do; 0: not known,
    // and it gets the same of any number.
    int nodes = 0;
    std::vector<FittedRows> fitted_to = {};
    SourceSpan place = {};  // in its file
  };
  std::vector<Entry> entries;
  // Of an operation: one of the two lines, peers for all-to-all.
  struct NodeEntry {
    Operation operation{};
    RingLines ring{};
    PeerLines peers{};
    std::vector<FittedRows> fitted_to = {};
    // Which parameters rows determined, in the order of kRingParameters or kPeerParameters; the others are
    // the class's. Empty: all.
    std::vector<bool> identified = {};
  };
  std::vector<NodeEntry> node;
  std::optional<Version> release = {};  // whose estimates its scales multiply
  std::string network = {};  // what joined the nodes of its tables: "infiniband"; empty: it does not say

  [[nodiscard]] const Curve* find(Algorithm algorithm, bool across_nodes) const;
  // Its own, or across nodes the first of another algorithm but for a ring's: what is lost there is mostly
  // the network's doing.
  [[nodiscard]] const Entry* best_for(Algorithm algorithm, bool across_nodes) const;
  [[nodiscard]] const NodeEntry* in_node(Operation operation) const;
};

// The parameters of an entry that rows determined.
std::vector<std::string> identified_names(const Calibration::NodeEntry& entry);

// The lines of an operation inside a node of a machine: those measured of it; else the class's, each
// parameter times what the machine's own all-reduce is of the class's, where that was measured; else the
// class's.
// Broadcasts and reduces take an all-gather's.
enum class LinesFrom { own, other_operation, node_class };
struct NodeLines {
  RingLines ring{};
  PeerLines peers{};
  LinesFrom from = LinesFrom::node_class;
  // Of own and other_operation: what they were fitted to, and the parameters of these lines that follow from
  // it (empty: all).
  std::vector<FittedRows> fitted_to = {};
  std::vector<bool> ring_identified = {}, peers_identified = {};
};
NodeLines node_lines(const Calibration& calibration, NodeClass node_class, Operation operation);

}  // namespace ddpsim::nccl
