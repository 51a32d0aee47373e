#pragma once
// What replay() runs on: timers, and links that several collectives and background traffic share.
#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/collective/flow_network.hpp"

namespace ddpsim {

class Network : public FlowNetwork {
 public:
  // Links are created before anything else happens, and are named by the index returned. They have no latency
  // of their own: latencies are timers.
  virtual int add_link(BytesPerSecond bandwidth) = 0;
  // Ends a transfer that is under way; its `done` is not called. Returns what was left of it.
  virtual Bytes cancel(int transfer) = 0;
  // Lets so much time pass at once, if nothing else happens until then; false: something may, and no time has
  // passed. Called while the network runs, instead of a timer after which the caller alone goes on.
  virtual bool pass(Seconds) { return false; }
  // Returns when no timer and no transfer is left.
  virtual void run() = 0;
  [[nodiscard]] virtual std::int64_t flows() const = 0;  // transfers until now
};

// SimGrid, which is loaded with the first of these calls: 30 ms. A process has one such network: a second is
// an InternalError. No transfer may be larger than `largest`. Throws EnvironmentError where SimGrid is not
// found.
std::unique_ptr<Network> make_simgrid_network(Bytes largest);
void load_simgrid();

// Timers, and no links: for collectives that are alone on theirs.
std::unique_ptr<Network> make_timer_network();

// FluidNetwork: in the process itself, as many as one likes.
std::unique_ptr<Network> make_builtin_network(Bytes largest);

}  // namespace ddpsim
