#pragma once
// SimGrid as this project uses it: links with max-min fair sharing, timers, and nothing else. Links have no
// latency of their own (latencies are timers) and no actors exist; everything happens in callbacks.
#include <functional>
#include <memory>
#include <span>

#include "sim/collective/flow_network.hpp"

namespace ddpsim::simgrid {

class Network : public FlowNetwork {
 public:
  // Creates this process's SimGrid engine. A process has only one: a second Network is an InternalError. No
  // transfer will be larger than `largest`.
  explicit Network(Bytes largest);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Links are created before run() and named by the index returned.
  int add_link(BytesPerSecond bandwidth);

  void after(Seconds delay, std::function<void()> action) override;
  int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) override;
  // Ends a transfer that is under way; its `done` is not called.
  void cancel(int transfer);

  [[nodiscard]] Seconds now() const override;
  // Returns when no timer and no transfer is left.
  void run();

  static std::string version();  // SimGrid's, "3.32"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpsim::simgrid
