#include "validate/harness/replayer.hpp"

#include <algorithm>
#include <optional>

#include "validate/harness/verification.hpp"

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

class Replayer : public StepPerformer {
 public:
  Replayer(CollectiveBackend& backend, const Job& job)
      : backend_(backend), elements_(job.elements()), in_flight_(job.collective_workers) {
    auto straggler = job.slowdowns.find(backend.rank());
    if (straggler != job.slowdowns.end()) slowdown_ = straggler->second;
    backend.allocate(elements_);
  }

  void prepare(const Step&) override {}

  StepTimes once(const Step& step, const WaitingFor& waiting_for) override {
    backend_.start_step();
    const auto& ops = step.program.ops;
    std::size_t launched = 0, waited = 0;  // ops before this one were waited for
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto& op = ops[i];
      if (must_wait(ops, op, waited)) {
        backend_.wait(waiting_for);
        waited = i;
      }
      if (op.kind == Op::Kind::collective)
        backend_.all_reduce(step.ranges[launched++]);
      else if (op.duration > Seconds(0))
        backend_.compute(slowdown_ * op.duration);
    }
    auto times = backend_.finish_step(waiting_for);
    DDPSIM_CHECK(times.collectives.size() == step.ranges.size(), "a backend times every collective");
    return times;
  }

  void verify(const Step& step, const WaitingFor& waiting_for) override {
    if (!replica_) replica_.emplace(backend_, elements_);
    replica_->write_gradients(step.ranges, ++round_);
    once(step, waiting_for);
    replica_->step(step.ranges, round_);
  }

  void require_equal() override {
    if (replica_) replica_->require_equal();
  }

 private:
  // All-reduces come one after the other anyway, unless several may be in flight.
  [[nodiscard]] bool must_wait(const std::vector<Op>& ops, const Op& op, std::size_t waited) const {
    if (op.kind == Op::Kind::collective && in_flight_ == 1) return false;
    return std::any_of(op.after.begin(), op.after.end(), [&](std::size_t before) {
      return before >= waited && ops[before].kind == Op::Kind::collective;
    });
  }

  CollectiveBackend& backend_;
  std::size_t elements_;
  int in_flight_;
  double slowdown_ = 1;
  std::optional<Replica> replica_;
  unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<StepPerformer> make_replayer(CollectiveBackend& backend, const Job& job) {
  return std::make_unique<Replayer>(backend, job);
}

}  // namespace ddpsim::validate
