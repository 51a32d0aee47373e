#pragma once
#include "sim/engine/communication.hpp"
#include "sim/engine/simgrid/executors.hpp"

namespace ddpsim::simgrid {

// One background flow on the network.
class BackgroundTraffic : public LinkUser {
 public:
  BackgroundTraffic(Network& network, LinkUsers& users, const BackgroundFlow& flow, std::vector<int> route,
                    Bytes size)
      : network_(network), users_(users), flow_(flow), route_(std::move(route)), size_(size) {}

  // How much it can send at most, given the capacities of the links on its route.
  static Bytes size_of(const BackgroundFlow& flow, const std::vector<int>& route,
                       const std::vector<BytesPerSecond>& capacities);

  // Schedules its start and end; `origin` is the network's time zero.
  void prepare(Seconds origin);

  [[nodiscard]] const std::vector<int>& links() const override { return route_; }
  void contend() override {}  // always a flow of its own

 private:
  void leave();

  Network& network_;
  LinkUsers& users_;
  const BackgroundFlow& flow_;
  std::vector<int> route_;
  Bytes size_;
  int transfer_ = 0;
  bool runs_ = false;
};

}  // namespace ddpsim::simgrid
