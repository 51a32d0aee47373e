#pragma once
// A network that several collectives and background traffic share, as the executors use it.
#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/collective/flow_network.hpp"

namespace ddpsim::simulated {

class Network : public FlowNetwork {
 public:
  // Links are created before anything else happens, and are named by the index returned. They have no latency
  // of their own: latencies are timers.
  virtual int add_link(BytesPerSecond bandwidth) = 0;
  // Ends a transfer that is under way; its `done` is not called.
  virtual void cancel(int transfer) = 0;
  // Returns when no timer and no transfer is left.
  virtual void run() = 0;
  [[nodiscard]] virtual std::int64_t flows() const = 0;  // transfers until now
};

// SimGrid, which is loaded with the first of these calls: 30 ms. A process has one such network: a second is
// an InternalError. No transfer may be larger than `largest`. Throws EnvironmentError where SimGrid is not
// found.
std::unique_ptr<Network> make_simgrid_network(Bytes largest);
void load_simgrid();

// FluidNetwork: in the process itself, as many as one likes.
std::unique_ptr<Network> make_builtin_network(Bytes largest);

}  // namespace ddpsim::simulated
