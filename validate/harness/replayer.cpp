#include "validate/harness/replayer.hpp"

#include <optional>

#include "validate/harness/verification.hpp"

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

std::vector<Range> ranges_of(const Step& step) {
  std::vector<Range> ranges;
  for (const auto& action : step.actions)
    if (action.kind == Action::Kind::all_reduce) ranges.push_back(action.range);
  return ranges;
}

class Replayer : public StepPerformer {
 public:
  Replayer(CollectiveBackend& backend, const Job& job) : backend_(backend), elements_(job.elements()) {
    auto straggler = job.slowdowns.find(backend.rank());
    if (straggler != job.slowdowns.end()) slowdown_ = straggler->second;
    backend.allocate(elements_);
  }

  void prepare(const Step&) override {}

  StepTimes once(const Step& step, const WaitingFor& waiting_for) override {
    backend_.start_step();
    for (const auto& action : step.actions) {
      switch (action.kind) {
        case Action::Kind::compute:
          backend_.compute(slowdown_ * action.duration);
          break;
        case Action::Kind::all_reduce:
          backend_.all_reduce(action.range);
          break;
        case Action::Kind::wait:
          backend_.wait(waiting_for);
          break;
      }
    }
    auto times = backend_.finish_step(waiting_for);
    DDPSIM_CHECK(times.collectives.size() == step.collectives(), "a backend times every collective");
    return times;
  }

  void verify(const Step& step, const WaitingFor& waiting_for) override {
    if (!replica_) replica_.emplace(backend_, elements_);
    auto ranges = ranges_of(step);
    replica_->write_gradients(ranges, ++round_);
    once(step, waiting_for);
    replica_->step(ranges, round_);
  }

  void require_equal() override {
    if (replica_) replica_->require_equal();
  }

 private:
  CollectiveBackend& backend_;
  std::size_t elements_;
  double slowdown_ = 1;
  std::optional<Replica> replica_;
  unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<StepPerformer> make_replayer(CollectiveBackend& backend, const Job& job) {
  return std::make_unique<Replayer>(backend, job);
}

}  // namespace ddpsim::validate
