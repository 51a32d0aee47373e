#pragma once
// Three ways to carry out one collective schedule on the network, from every flow to one flow an edge class.
#include <functional>
#include <memory>

#include "sim/collective/schedule.hpp"
#include "sim/engine/simgrid/network.hpp"

namespace ddpsim::simgrid {

class Executor {
 public:
  virtual ~Executor() = default;
  // Starts the collective now; calls `done` when its last stage has ended. One at a time.
  virtual void start(Bytes bytes, std::function<void()> done) = 0;
};

// Every executor creates the links it needs when it is made, before the network runs.

// Each rank sends each chunk, a step as soon as the one before has arrived: the reference. 2(N-1)N flows for
// a ring.
std::unique_ptr<Executor> make_exact_executor(Network& network, const CollectiveSchedule& schedule);
// One flow a step and edge class, a barrier after each step.
std::unique_ptr<Executor> make_folded_executor(Network& network, const CollectiveSchedule& schedule);
// One flow an edge class for the whole stage, all its latency first. Exact only while no link is contended.
std::unique_ptr<Executor> make_fluid_executor(Network& network, const CollectiveSchedule& schedule);

}  // namespace ddpsim::simgrid
