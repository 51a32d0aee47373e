#pragma once
// What `ddpsim topology` shows, as JSON or CSV (docs/reference/topology.md, "Tables of a topology").
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

struct LinkFigures {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
};

struct TopologyReport {
  std::string topology;
  int gpus = 0, nodes = 0, links = 0;
  std::optional<LinkFigures> narrowest, widest;
  BytesPerSecond bisection;
  // From the first GPU to the first one of another node.
  struct BetweenNodes {
    BytesPerSecond bandwidth;
    Seconds latency;
    std::string bottleneck;
    std::vector<LinkFigures> links;
  };
  std::optional<BetweenNodes> between_nodes;
  struct Pair {
    std::string from, to, joined_by;  // "NV4", "-" without a way
  };
  std::vector<Pair> pairs;  // of the GPUs that the printed table has
};
std::string topology_json(const TopologyReport& report);
std::string topology_csv(const TopologyReport& report);

struct RingReport {
  std::vector<int> gpus;  // in its order
  int from = 0, to = 0;   // the narrowest hop
  BytesPerSecond bandwidth;
  std::string link;  // of that hop, the narrowest
};
std::string rings_json(const std::string& topology, const std::vector<RingReport>& rings);
std::string rings_csv(const std::vector<RingReport>& rings);

}  // namespace ddpsim
