#pragma once
// A cluster written out, vertex by vertex: for drawings, cuts and tests, not for routes.
#include <string>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

struct ClusterGraph {
  enum class Kind { gpu, nic, node_switch, fabric_switch };
  struct Vertex {
    std::string name;
    Kind kind;
    int node;  // -1: of the fabric
    int gpu;   // its number; -1: not a GPU, or one that no rank uses
  };
  struct Edge {
    int from;
    int to;
    int link;  // -1: plugged into each other at no cost
    Link figures = {};
    bool broken = false;
  };
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
};

}  // namespace ddpsim
