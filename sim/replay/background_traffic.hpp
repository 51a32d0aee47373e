#pragma once
#include "sim/cost/communication.hpp"
#include "sim/replay/executors.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {

// One background flow on the network. It sends piece after piece, so that a long flow needs no larger number
// than the collectives do.
class BackgroundTraffic : public LinkUser {
 public:
  // `is_over`: nobody is left whom it could disturb.
  BackgroundTraffic(Network& network, LinkUsers& users, const BackgroundFlow& flow, std::vector<int> route,
                    Bytes piece, std::function<bool()> is_over)
      : network_(network),
        users_(users),
        flow_(flow),
        route_(std::move(route)),
        piece_(piece),
        is_over_(std::move(is_over)) {}

  // Schedules its start and end; `origin` is the network's time zero.
  void prepare(Seconds origin);

  [[nodiscard]] const std::vector<int>& links() const override { return route_; }
  void contend() override {}  // always a flow of its own

 private:
  void send();
  void leave();

  Network& network_;
  LinkUsers& users_;
  const BackgroundFlow& flow_;
  std::vector<int> route_;
  Bytes piece_;
  std::function<bool()> is_over_;
  Bytes left_;
  int transfer_ = 0;
  bool runs_ = false;
};

}  // namespace ddpsim
