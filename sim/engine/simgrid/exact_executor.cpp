#include <utility>
#include <vector>

#include "sim/engine/simgrid/executors.hpp"

namespace ddpsim::simgrid {
namespace {

// One ring of the running stage. Position p may send its step s once it has sent step s-1 and received step
// s-1 from p-1: what it sends is what it received last (ring_transfer).
class RingRun {
 public:
  RingRun(Network& network, const Ring& ring, const std::vector<int>& links, int steps, Bytes chunk,
          std::function<void()> done)
      : network_(network),
        ring_(ring),
        links_(links),
        steps_(steps),
        chunk_(chunk),
        done_(std::move(done)),
        sent_(ring.edges.size(), 0),
        busy_(ring.edges.size(), false) {}

  void start() {
    for (std::size_t p = 0; p < sent_.size(); ++p) try_send(p);
  }

 private:
  void try_send(std::size_t p) {
    std::size_t previous = p == 0 ? sent_.size() - 1 : p - 1;
    if (busy_[p] || sent_[p] == steps_ || sent_[previous] < sent_[p]) return;
    busy_[p] = true;
    network_.after(ring_.edges[p].latency, [this, p] {
      route_.clear();
      for (int link : ring_.edges[p].route) route_.push_back(links_[static_cast<std::size_t>(link)]);
      network_.transfer(route_, chunk_, [this, p] { arrived(p); });
    });
  }

  void arrived(std::size_t p) {
    busy_[p] = false;
    if (++sent_[p] == steps_ && ++finished_ == sent_.size()) {
      done_();
      return;
    }
    try_send(p);
    try_send(p + 1 == sent_.size() ? 0 : p + 1);
  }

  Network& network_;
  const Ring& ring_;
  const std::vector<int>& links_;
  int steps_;
  Bytes chunk_;
  std::function<void()> done_;
  std::vector<int> sent_;
  std::vector<bool> busy_;
  std::vector<int> route_;
  std::size_t finished_ = 0;
};

class ExactExecutor : public Executor {
 public:
  ExactExecutor(Network& network, const CollectiveSchedule& schedule)
      : network_(network), schedule_(schedule) {
    for (auto bandwidth : schedule.links) links_.push_back(network.add_link(bandwidth));
  }

  void start(Bytes bytes, std::function<void()> done) override {
    bytes_ = bytes;
    done_ = std::move(done);
    start_stage(0);
  }

 private:
  void start_stage(std::size_t index) {
    if (index == schedule_.stages.size())
      return std::exchange(done_, {})();  // it may start the next collective
    const Stage& stage = schedule_.stages[index];
    rings_left_ = stage.rings.size();
    auto ring_done = [this, index] {
      if (--rings_left_ == 0) network_.after(Seconds(0), [this, index] { start_stage(index + 1); });
    };
    runs_.clear();
    for (const auto& ring : stage.rings)
      runs_.push_back(
          std::make_unique<RingRun>(network_, ring, links_, stage.steps, bytes_ / stage.chunks, ring_done));
    for (auto& run : runs_) run->start();
  }

  Network& network_;
  const CollectiveSchedule& schedule_;
  std::vector<int> links_;
  Bytes bytes_;
  std::function<void()> done_;
  std::size_t rings_left_ = 0;
  std::vector<std::unique_ptr<RingRun>> runs_;
};

}  // namespace

std::unique_ptr<Executor> make_exact_executor(Network& network, const CollectiveSchedule& schedule) {
  return std::make_unique<ExactExecutor>(network, schedule);
}

}  // namespace ddpsim::simgrid
