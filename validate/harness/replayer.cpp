#include "validate/harness/replayer.hpp"

#include <optional>

#include "validate/harness/verification.hpp"

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

class Replayer : public StepPerformer {
 public:
  Replayer(CollectiveBackend& backend, const Job& job) : backend_(backend), elements_(job.elements()) {
    auto straggler = job.slowdowns.find(backend.rank());
    if (straggler != job.slowdowns.end()) slowdown_ = straggler->second;
    backend.allocate(elements_);
  }

  void prepare(const Step&) override {}

  StepTimes once(const Step& step, const WaitingFor& waiting_for) override {
    auto times = backend_.perform(step, slowdown_, waiting_for);
    DDPSIM_CHECK(times.collectives.size() == step.ranges.size(), "a backend times every collective");
    return times;
  }

  void verify(const Step& step, const WaitingFor& waiting_for) override {
    if (!replica_) replica_.emplace(backend_, elements_);
    replica_->fill(step, ++round_);
    once(step, waiting_for);
    replica_->check(step, round_);
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
