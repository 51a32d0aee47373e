#pragma once
// A network in this process: max-min fair sharing by progressive filling (Bertsekas and Gallager, "Data
// Networks", 1992, section 6.5.2) and timers. It can stop anywhere and say how far every flow is, which is
// how a collective that was alone until now goes on among others.
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "sim/collective/flow_network.hpp"

namespace ddpsim {

class FluidNetwork : public FlowNetwork {
 public:
  // One capacity a link id.
  explicit FluidNetwork(std::span<const BytesPerSecond> capacities);

  [[nodiscard]] Seconds now() const override { return now_; }
  void after(Seconds delay, std::function<void()> action) override;
  int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) override;

  // Ends a flow that has not ended, or has at this moment; its `done` is not called.
  void cancel(int flow);

  // Until nothing is left to happen, or until `end` (what happens exactly then has happened).
  void run(Seconds end = Seconds(std::numeric_limits<double>::infinity()));
  // From within an action: run() returns once everything that happens at this moment has happened.
  void stop() { stopped_ = true; }
  // Of a flow that has not ended; of one that has at this moment, and whose `done` is still to come, nothing.
  [[nodiscard]] Bytes remaining(int flow) const;

 private:
  struct Use {
    int link;
    double times;
  };
  struct Flow {
    int number;
    boost::container::small_vector<Use, 2> uses;
    Bytes bytes, left;
    BytesPerSecond rate;
    std::function<void()> done;
  };
  struct Arrived {
    int number;
    std::function<void()> done;
  };
  struct Load {
    double free = 0;   // capacity not given away yet
    double users = 0;  // flows that have no rate yet, as often as they use the link
  };

  void share_bandwidth();
  void load_links();
  [[nodiscard]] Seconds next_arrival() const;  // from now
  void advance(Seconds duration);

  std::span<const BytesPerSecond> capacities_;
  Seconds now_;
  std::vector<Flow> flows_;      // in the order they started
  std::deque<Arrived> arrived_;  // whose `done` comes next
  std::multimap<Seconds, std::function<void()>> timers_;
  int next_number_ = 0;
  bool stopped_ = false;
  bool shared_ = true;  // the rates are those of the flows in `flows_`
  // Scratch of share_bandwidth.
  std::vector<Load> loads_;      // by link id
  std::vector<int> used_links_;  // with at least one flow
  std::vector<Flow*> open_;      // flows without a rate
  std::vector<Flow*> bound_;     // those of them that a full link bounds
};

}  // namespace ddpsim
