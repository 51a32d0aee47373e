#pragma once
// The one loop that carries out programs: compute lanes of classes of ranks, collectives that start when the
// last member has launched them, and how both slow one another down.
#include <span>
#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"
#include "sim/replay/fidelity.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {

// Ranks that do the same at the same times.
struct ReplayedClass {
  const Program* program;
  double slowdown = 1;                     // of all compute
  Seconds start;                           // of its program, on a clock of the caller's
  std::vector<std::size_t> communicators;  // which of the replay's each of the program's is
  LinkUses on_links = {};                  // of what it computes
};

// Groups of ranks that launch the same collectives at the same times, since classes stand for members of
// each: all of them run, and a collective ends with the last of them.
struct ReplayedCommunicator {
  struct Group {
    CollectiveCost* cost;
    const FlowPlan* plan = nullptr;  // where links are shared: what carries it out; of each group or of none
  };
  std::vector<Group> groups;
  int in_flight = 1;           // collectives of it at once; the others wait in launch order
  bool crosses_nodes = false;  // over which of the links that LinkUses tells apart
  double interference = 1;     // of the job's, while its collectives run
};

// Links that communicators share with one another and with background traffic.
struct SharedLinks {
  Fidelity fidelity = Fidelity::lazy;
  std::span<const BytesPerSecond> capacities;  // by link of the plans
  std::span<const BackgroundFlow> background;
  std::span<const std::vector<int>> routes;  // of each background flow
  Bytes piece;                               // in which background traffic is sent
};

// Times on the caller's clock.
struct ReplayResult {
  struct Class {
    std::vector<Span> compute;              // of the first lane, waiting included, back to back
    std::vector<std::vector<Span>> others;  // of the others, with gaps
    std::vector<Seconds> ended;             // by op
  };
  std::vector<Class> classes;
  std::vector<std::vector<Span>> communication;  // by communicator, in launch order
};

// On a new network, which gets the links. Throws InternalError where the
// job hangs, or members of a communicator launch different collectives.
ReplayResult replay(std::span<const ReplayedClass> classes,
                    std::span<const ReplayedCommunicator> communicators, const Interference& interference,
                    Network& network, const SharedLinks& links = {});

}  // namespace ddpsim
