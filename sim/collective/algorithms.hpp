#pragma once
// The collective algorithms, as schedules. Each takes what it needs to know of the cluster, in ranks.
#include <functional>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

struct Path {
  std::vector<int> links;
  Seconds latency;
  BytesPerSecond bandwidth;
};

// How the ranks of one group are connected. `path` throws InputError where there is no way.
struct Wiring {
  int ranks = 0;
  std::function<Path(int from, int to)> path;
  // Ranks of each node, by local position; every rank once.
  std::vector<std::vector<int>> nodes;
  // A node's switch that reduces and multicasts (NVLink SHARP), seen from a rank. Null where there is none.
  std::function<Path(int rank)> to_switch, from_switch;
  // Local positions of the ranks that head the channels of chain_tree and nvls_tree; empty: all.
  std::vector<int> heads{};
};

// An all-reduce, reduce-scatter or all-gather. One channel an order; each order is a cycle over all ranks.
// n-1 reduce-scatter and n-1 all-gather steps of S/n bytes (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009).
CollectiveSchedule ring(Operation operation, const Wiring& wiring,
                        const std::vector<std::vector<int>>& orders);
// A broadcast: a pipelined chain along each order, from its first rank to its last. A reduce: the same the
// other way round, adding up; what the last of an order sends ends in the first.
CollectiveSchedule chain(Operation operation, const Wiring& wiring,
                         const std::vector<std::vector<int>>& orders);

// An all-to-all: every rank sends each other rank its n-th of the buffer, all at once, as NCCL's sends and
// receives do. A gather or scatter: each rank's n-th to or from rank 0. A send/recv, of two ranks: the whole
// buffer from the first to the second.
CollectiveSchedule direct(Operation operation, const Wiring& wiring);
// Between the last `servers` of the ranks and each other rank, all at once, each server its part of the
// buffer: reduce to the servers, broadcast from them. A server on its rank's own GPU takes no link.
CollectiveSchedule server_transfers(const Wiring& wiring, int servers, Operation operation);

// Two trees, each on half of the buffer, built so that no rank has children in both (Sanders, Speck and
// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009), but for rank 0 of an
// odd number, which may have one in each, as in NCCL. Reduced to the root and broadcast from it in one
// pipeline. `channels` pairs of trees share the buffer.
CollectiveSchedule double_binary_tree(const Wiring& wiring, int channels = 1);

// Within each node a chain of its ranks, between nodes the two trees over the heads of the chains, as in NCCL
// (src/graph/connect.cc: connectTrees). Reduced along the chains to the heads and up to the root, handed back
// the same ways, in one pipeline. One channel an order, each a cycle over all ranks: a node's chain goes the
// way of the ring, and the rank at which the ring enters is its head, so that rings over different NICs have
// different heads.
CollectiveSchedule chain_tree(const Wiring& wiring, const std::vector<std::vector<int>>& orders);

// Recursive halving, then doubling (Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", 2005): pairs at distance 1, 2, 4 ... exchange halves. Ranks beyond the largest power
// of two first add theirs to a partner's and get the result at the end.
CollectiveSchedule halving_doubling(const Wiring& wiring);

// Reduce-scatter over each node's ring, all-reduce of every shard over a ring of nodes (one a local
// position: a rail), all-gather in the node. `node_orders[i]` are the ring orders of node i, one a channel,
// over its local positions (the same number of channels in every node). Every node has the same number of
// ranks.
CollectiveSchedule hierarchical(const Wiring& wiring,
                                const std::vector<std::vector<std::vector<int>>>& node_orders);

// The node's switch adds up what all ranks send and hands the sum to all (one node only).
CollectiveSchedule nvls(const Wiring& wiring);
// One pipeline: the switch adds up within the node, a double binary tree a shard between nodes, the switch
// hands out.
CollectiveSchedule nvls_tree(const Wiring& wiring);

}  // namespace ddpsim
