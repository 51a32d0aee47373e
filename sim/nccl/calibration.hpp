#pragma once
// What was measured of a machine: curves of its all-reduces across nodes or over PCIe, lines of any operation
// inside an NVLink node.
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/source.hpp"
#include "sim/nccl/curve.hpp"
#include "sim/nccl/lines.hpp"

namespace ddpsim::nccl {

struct Calibration {
  // By the algorithm that carries large messages, and whether it crosses nodes.
  struct Entry {
    Algorithm algorithm = Algorithm::ring;
    bool across_nodes = false;
    Curve curve;
    int largest_ranks = 0;  // of the tables it was fitted to; 0: not known
    // The most nodes of those tables, beyond which a ring across nodes falls as its links do; 0: not known,
    // and it gets the same of any number.
    int nodes = 0;
    SourceSpan place = {};  // in its file
  };
  std::vector<Entry> entries;
  // Of an operation: one of the two lines, peers for all-to-all.
  struct NodeEntry {
    Operation operation = Operation::all_reduce;
    RingLines ring{};
    PeerLines peers{};
    int largest_ranks = 0;
  };
  std::vector<NodeEntry> node;

  [[nodiscard]] const Curve* find(Algorithm algorithm, bool across_nodes) const;
  // Its own, or across nodes the first of another algorithm but for a ring's: what is lost there is mostly
  // the network's doing.
  [[nodiscard]] const Entry* best_for(Algorithm algorithm, bool across_nodes) const;
  [[nodiscard]] const NodeEntry* in_node(Operation operation) const;
};

// The lines of an operation inside a node of a machine: those measured of it; else the class's, each
// parameter times what the machine's own all-reduce is of the class's, where that was measured; else the
// class's.
// Broadcasts and reduces take an all-gather's.
enum class LinesFrom { own, other_operation, node_class };
struct NodeLines {
  RingLines ring{};
  PeerLines peers{};
  LinesFrom from = LinesFrom::node_class;
  int largest_ranks = 0;  // of own and other_operation; 0: not known
};
NodeLines node_lines(const Calibration& calibration, NodeClass node_class, Operation operation);

}  // namespace ddpsim::nccl
