#pragma once
// SimGrid as this project uses it: links with max-min fair sharing, timers, and nothing else. No actors
// exist; everything happens in callbacks.
#include "sim/replay/network.hpp"

namespace ddpsim::simgrid {

class SimGridNetwork : public Network {
 public:
  // Creates this process's SimGrid engine.
  explicit SimGridNetwork(Bytes largest);
  ~SimGridNetwork() override;
  SimGridNetwork(const SimGridNetwork&) = delete;
  SimGridNetwork& operator=(const SimGridNetwork&) = delete;

  int add_link(BytesPerSecond bandwidth) override;
  void after(Seconds delay, std::function<void()> action) override;
  int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) override;
  Bytes cancel(int transfer) override;
  [[nodiscard]] Seconds now() const override;
  [[nodiscard]] std::int64_t flows() const override;
  void run() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpsim::simgrid
