#pragma once
// A collective as data: what moves over which edge in which step. Built and verified without an engine,
// costed by the closed form, executed by the simulators.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// From one rank to the next along a ring: the links it occupies (indices into CollectiveSchedule::links), the
// latency a message pays on them together, and the bandwidth of the narrowest.
struct Edge {
  int from = 0;
  int to = 0;
  std::vector<int> route;
  Seconds latency;
  BytesPerSecond bandwidth;
};

// edges[i] leads into edges[i + 1], the last into the first.
struct Ring {
  std::vector<Edge> edges;
};

enum class Operation { all_reduce, reduce_scatter, all_gather };

// All rings of a stage run at once, each on an equal share of the buffer; the stage ends when all have ended.
// In each of `steps` steps every edge of a ring carries one chunk: 1/chunks of the buffer.
struct Stage {
  Operation operation = Operation::all_reduce;
  std::vector<Ring> rings;
  int steps = 0;
  int chunks = 1;
};

struct CollectiveSchedule {
  std::string algorithm;  // "ring"
  int ranks = 0;
  std::vector<BytesPerSecond> links;
  std::vector<Stage> stages;
};

// What one position of a ring of `n` sends in `step`: which n-th of the ring's buffer, and whether the
// receiver adds it to its own (reduce) or replaces its own (copy).
struct Transfer {
  int chunk;
  bool reduce;
};
Transfer ring_transfer(Operation operation, int n, int position, int step);

// n-1 reduce-scatter steps and n-1 all-gather steps of S/n bytes (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009). `latencies` and `bandwidths` have one entry a
// rank: its link to the next.
CollectiveSchedule ring_all_reduce(std::span<const Seconds> latencies,
                                   std::span<const BytesPerSecond> bandwidths);

// Edges of a stage that behave alike: same ring, latency and bandwidth. One of them stands for all.
struct EdgeClass {
  std::size_t ring = 0;
  std::size_t representative = 0;  // edge index in its ring
  int edges = 0;
};

// In order of first appearance. Requires that no link carries two edges (else edges of one class compete with
// each other, and one cannot stand for all); `shares_links` tells.
std::vector<EdgeClass> fold(const Stage& stage);
bool shares_links(const CollectiveSchedule& schedule);

// The contention-free time: stages one after the other; of each, the slowest edge's steps x (latency + chunk
// / bandwidth).
class ScheduleCost {
 public:
  explicit ScheduleCost(const CollectiveSchedule& schedule);
  [[nodiscard]] Seconds operator()(Bytes bytes) const;

 private:
  struct Term {
    std::size_t stage;
    double steps, chunks;
    Seconds latency;
    BytesPerSecond bandwidth;
  };
  std::vector<Term> terms_;
};

}  // namespace ddpsim
