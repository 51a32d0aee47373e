#include "sim/engine/coupled_iteration.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/engine/collective_workers.hpp"
#include "sim/engine/compute_program.hpp"

namespace ddpsim {
namespace {

using Kind = ComputeStep::Kind;

// What is left of something, in seconds at full speed, and how fast it goes.
struct Progress {
  Seconds left;
  double rate = 1;
  [[nodiscard]] Seconds until_done() const { return left / rate; }
};

// The compute lane of a rank class, on its way through the program.
class ComputeLane {
 public:
  ComputeLane(const std::vector<ComputeStep>& program, double slowdown, std::size_t n_buckets)
      : program_(program), slowdown_(slowdown), ready_(n_buckets) {
    start_step();
  }

  [[nodiscard]] bool is_done() const { return step_ == program_.size(); }
  [[nodiscard]] bool is_working() const { return !is_done() && program_[step_].kind == Kind::work; }
  [[nodiscard]] std::size_t launched() const { return launched_; }
  void set_rate(double rate) { work_.rate = rate; }
  [[nodiscard]] Seconds until_done() const { return work_.until_done(); }

  // Passes all that takes no time.
  void settle(Seconds now, const CollectiveWorkers& collectives) {
    for (; !is_done() && !is_working(); ++step_, start_step()) {
      const auto& step = program_[step_];
      if (step.kind == Kind::wait && !collectives.has_ended(step.index)) return;
      if (step.kind == Kind::ready) ready_[step.index] = now;
      if (step.kind == Kind::launch) launched_ = step.index + 1;
    }
  }

  // Lets time pass until `end`. `is_over`: what it works at ends then.
  void advance(Seconds now, Seconds end, bool is_over) {
    if (is_done()) return;
    const auto& step = program_[step_];
    Seconds passed = end - now;
    Seconds lost = is_working() ? passed - passed * work_.rate : Seconds(0);
    record(step, now, end, lost);
    if (!is_working()) return;
    work_.left -= passed * work_.rate;
    if (!is_over) return;
    ++step_;
    start_step();
  }

  std::vector<Span> take_spans() { return std::move(spans_); }
  [[nodiscard]] const std::vector<Seconds>& ready() const { return ready_; }

 private:
  void start_step() {
    if (is_working()) work_.left = slowdown_ * program_[step_].duration;
  }

  // A span ends where its rate changes.
  void record(const ComputeStep& step, Seconds start, Seconds end, Seconds lost) {
    if (end <= start) return;
    bool slowed = lost > Seconds(0);
    auto index = step.kind == Kind::wait ? 0 : step.index;
    if (!spans_.empty()) {
      auto& last = spans_.back();
      if (last.activity == step.activity && last.index == index && (last.lost > Seconds(0)) == slowed) {
        last.end = end;
        last.lost += lost;
        return;
      }
    }
    spans_.push_back({step.activity, index, start, end, lost});
  }

  const std::vector<ComputeStep>& program_;
  double slowdown_;
  std::size_t step_ = 0, launched_ = 0;
  Progress work_;
  std::vector<Span> spans_;
  std::vector<Seconds> ready_;
};

// All lanes of a group from `now` to the end of the iteration.
class CoupledGroup {
 public:
  CoupledGroup(std::vector<ComputeLane>& compute, CollectiveWorkers& collectives,
               const Interference& interference, Seconds now)
      : compute_(compute), collectives_(collectives), interference_(interference), now_(now) {}

  void run() {
    for (settle(); !is_done(); settle()) advance();
  }

 private:
  [[nodiscard]] bool is_done() const {
    return collectives_.is_done() &&
           std::all_of(compute_.begin(), compute_.end(), [](const auto& lane) { return lane.is_done(); });
  }

  [[nodiscard]] std::size_t launched_by_all() const {
    auto least = std::numeric_limits<std::size_t>::max();
    for (const auto& lane : compute_) least = std::min(least, lane.launched());
    return least;
  }

  void settle() {
    for (auto& lane : compute_) lane.settle(now_, collectives_);
    collectives_.start_next(now_, launched_by_all());
  }

  void advance() {
    constexpr Seconds kNever(std::numeric_limits<double>::infinity());
    bool computing = false;
    Seconds step = kNever;
    for (auto& lane : compute_) {
      if (!lane.is_working()) continue;
      computing = true;
      lane.set_rate(collectives_.is_busy() ? 1 / (1 + interference_.compute) : 1);
      step = std::min(step, lane.until_done());
    }
    if (collectives_.is_busy()) {
      // A collective is as slow as its slowest rank.
      collectives_.set_rate(computing ? 1 / (1 + interference_.collective) : 1);
      step = std::min(step, collectives_.until_change());
    }
    DDPSIM_CHECK(step < kNever, "somebody is at work until the iteration ends");
    Seconds end = now_ + step;
    auto launched = launched_by_all();
    for (auto& lane : compute_) lane.advance(now_, end, lane.is_working() && lane.until_done() <= step);
    collectives_.advance(now_, end, step, launched);
    now_ = end;
  }

  std::vector<ComputeLane>& compute_;
  CollectiveWorkers& collectives_;
  const Interference& interference_;
  Seconds now_;
};

}  // namespace

void add_coupled_group(Timeline& timeline, const Scenario& scenario, const GroupCollectives& collectives) {
  auto program = compute_program(scenario, collectives.requests);
  const auto& group = scenario.groups[collectives.members.front()];
  std::vector<ComputeLane> compute;
  for (const auto& rank_class : group.rank_classes)
    compute.emplace_back(program, rank_class.slowdown, scenario.plan.buckets.size());
  CollectiveWorkers workers(collectives, scenario.collective_workers, scenario.physics.overheads.first_start);
  CoupledGroup(compute, workers, scenario.physics.interference, iteration_start(scenario, group)).run();
  auto communication = workers.take_spans();
  for (std::size_t c = 0; c < group.rank_classes.size(); ++c) {
    auto ranks = empty_timeline(scenario, collectives.members, c);
    ranks.compute = compute[c].take_spans();
    ranks.communication = communication;
    ranks.bucket_ready = compute[c].ready();
    timeline.rank_classes.push_back(std::move(ranks));
  }
  sort_by_rank(timeline);
}

}  // namespace ddpsim
