#pragma once
// A network as somebody sees it who goes at a pace of his own: at pace 1/2 his clock advances half as fast,
// his timers take twice as long and his flows carry half as much. That is how compute and collectives slow
// one another down, whatever carries them out.
#include <deque>
#include <map>

#include "sim/replay/network.hpp"

namespace ddpsim {

class PacedNetwork : public FlowNetwork {
 public:
  // `network` outlives this, and does not run on without it.
  explicit PacedNetwork(Network& network) : network_(network), since_(network.now()) {}
  PacedNetwork(const PacedNetwork&) = delete;
  PacedNetwork& operator=(const PacedNetwork&) = delete;

  // In time of his own, since it was made.
  [[nodiscard]] Seconds now() const override { return local_ + pace_ * (network_.now() - since_); }
  void after(Seconds delay, std::function<void()> action) override;
  bool pass(Seconds delay);  // as Network's
  // `route` outlives the transfer.
  int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) override;

  [[nodiscard]] double pace() const { return pace_; }
  // From now on, for what is under way too.
  void set_pace(double pace);

 private:
  struct Timer {
    int number;
    Seconds due;  // local
    std::function<void()> action;
    int set = 0;  // how often it was set: only the last one counts
  };
  struct Sent {
    std::span<const int> route;
    std::function<void()> done;
    int transfer = 0;
  };
  void set(Timer& timer);
  [[nodiscard]] Seconds until(Seconds due) const;  // the network's time
  void fire(int number, int set);
  void send(int number, Sent& sent, Bytes bytes);

  Network& network_;
  double pace_ = 1;
  Seconds local_, since_;     // the local time when the pace was set, and the network's
  std::deque<Timer> timers_;  // in the order in which they were made, and so mostly of their ends
  std::map<int, Sent> sent_;
  int next_ = 0;
};

}  // namespace ddpsim
