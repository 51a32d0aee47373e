// Folded and fluid: both run each stage on one representative edge a class; they differ in what one round
// carries.
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/engine/simgrid/executors.hpp"

namespace ddpsim::simgrid {
namespace {

// A round is what runs between two barriers: one step (folded), or the whole stage (fluid).
enum class Round { step, stage };

struct Representative {
  std::vector<int> route;
  Seconds latency;
};

class FoldedExecutor : public Executor {
 public:
  FoldedExecutor(Network& network, const CollectiveSchedule& schedule, Round round)
      : network_(network), round_(round) {
    DDPSIM_CHECK(!shares_links(schedule), "edges that share links cannot be folded");
    for (const auto& stage : schedule.stages) {
      auto& folded = stages_.emplace_back();
      folded.steps = stage.steps;
      folded.chunks = stage.chunks;
      for (const auto& edge_class : fold(stage)) {
        const Edge& edge = stage.rings[edge_class.ring].edges[edge_class.representative];
        Representative representative{{}, edge.latency};
        for (int link : edge.route)
          representative.route.push_back(network.add_link(schedule.links[static_cast<std::size_t>(link)]));
        folded.edges.push_back(std::move(representative));
      }
    }
  }

  void start(Bytes bytes, std::function<void()> done) override {
    bytes_ = bytes;
    done_ = std::move(done);
    stage_ = 0;
    round_index_ = 0;
    start_round();
  }

 private:
  struct FoldedStage {
    int steps = 0;
    int chunks = 1;
    std::vector<Representative> edges;
  };

  void start_round() {
    const auto& stage = stages_[stage_];
    int steps = round_ == Round::step ? 1 : stage.steps;
    Bytes bytes = static_cast<double>(steps) * (bytes_ / stage.chunks);
    flows_left_ = stage.edges.size();
    for (const auto& edge : stage.edges)
      network_.after(static_cast<double>(steps) * edge.latency, [this, &edge, bytes] {
        network_.transfer(edge.route, bytes, [this] {
          if (--flows_left_ == 0) finish_round();
        });
      });
  }

  void finish_round() {
    const auto& stage = stages_[stage_];
    int rounds = round_ == Round::step ? stage.steps : 1;
    if (++round_index_ == rounds) {
      round_index_ = 0;
      if (++stage_ == stages_.size()) return std::exchange(done_, {})();  // it may start the next collective
    }
    start_round();
  }

  Network& network_;
  Round round_;
  std::vector<FoldedStage> stages_;
  Bytes bytes_;
  std::function<void()> done_;
  std::size_t stage_ = 0;
  int round_index_ = 0;
  std::size_t flows_left_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_folded_executor(Network& network, const CollectiveSchedule& schedule) {
  return std::make_unique<FoldedExecutor>(network, schedule, Round::step);
}

std::unique_ptr<Executor> make_fluid_executor(Network& network, const CollectiveSchedule& schedule) {
  return std::make_unique<FoldedExecutor>(network, schedule, Round::stage);
}

}  // namespace ddpsim::simgrid
