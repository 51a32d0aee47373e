#include "validate/gloo/lane_run.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

// What Gloo's threads tell the one that runs the lanes.
class Ends {
 public:
  void add() {
    {
      std::lock_guard lock(mutex_);
      ++n_;
    }
    changed_.notify_one();
  }
  // Until there are more than `seen`, or that moment has come. How many there are.
  std::size_t wait(std::size_t seen, std::optional<Moment> until) {
    std::unique_lock lock(mutex_);
    auto has_more = [&] { return n_ > seen; };
    if (!until)
      changed_.wait(lock, has_more);
    else  // on CLOCK_MONOTONIC, as now() is
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(*until)),
                          has_more);
    return n_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t n_ = 0;
};

class LaneRun {
 public:
  LaneRun(const Step& step, double slowdown, int in_flight, Moment start, const Launch& launch,
          const CollectiveBackend::WaitingFor& waiting_for)
      : ops_(step.program.ops),
        before_last_backward_(step.before_last_backward),
        slowdown_(slowdown),
        in_flight_(in_flight),
        launch_(launch),
        waiting_for_(waiting_for),
        has_ended_(ops_.size()),
        collective_of_(ops_.size()) {
    done_.end = done_.backward_start = start;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!is_collective(i)) continue;
      collective_of_[i] = op_of_.size();
      op_of_.push_back(i);
    }
    skip(compute_, false);
    skip(communication_, true);
  }

  LanesDone take() {
    while (compute_ < ops_.size() || n_ended_ < op_of_.size())
      if (!go_on()) wait();
    done_.end = std::max(done_.end, now());
    return std::move(done_);
  }

 private:
  [[nodiscard]] bool is_collective(std::size_t op) const { return ops_[op].kind == Op::Kind::collective; }

  // On to the next op of a lane.
  void skip(std::size_t& op, bool to_collective) const {
    while (op < ops_.size() && is_collective(op) != to_collective) ++op;
  }

  // Compute first: it never waits for a launch.
  bool go_on() {
    bool moved = take_ended();
    if (computes_ && now() >= done_.end) {
      computes_ = false;
      end_compute();
      moved = true;
    }
    if (!computes_ && compute_ < ops_.size() && is_ready(compute_)) {
      start_compute();
      moved = true;
    }
    if (communication_ < ops_.size() && is_ready(communication_)) {
      done_.launched.push_back(launch_(done_.launched.size(), [ends = ends_] { ends->add(); }));
      skip(++communication_, true);
      moved = true;
    }
    return moved;
  }

  [[nodiscard]] bool is_ready(std::size_t op) const {
    bool queues = is_collective(op) && in_flight_ == 1;
    return std::ranges::all_of(ops_[op].after, [&](std::size_t before) {
      return has_ended_[before] || (queues && is_collective(before));
    });
  }

  // Moments follow each other exactly, however late this thread woke up: a delay at one of them does not push
  // the others. Only what a collective ended later than compute did counts from when it is seen.
  void start_compute() {
    const auto& op = ops_[compute_];
    bool has_waited = std::ranges::any_of(op.after, [&](std::size_t before) {
      return is_collective(before) && done_.launched[collective_of_[before]]->end.load() > done_.end;
    });
    if (has_waited) done_.end = std::max(done_.end, now());
    done_.end += static_cast<Moment>(1e9 * slowdown_ * op.duration.value());
    computes_ = true;
  }

  void end_compute() {
    has_ended_[compute_] = true;
    if (before_last_backward_ == compute_) done_.backward_start = done_.end;
    skip(++compute_, false);
  }

  // Of what has ended, each once; failures are thrown here.
  bool take_ended() {
    auto seen = n_ended_;
    for (auto c = first_; c < done_.launched.size(); ++c) {
      if (has_ended_[op_of_[c]] || done_.launched[c]->end.load() == 0) continue;
      if (done_.launched[c]->error) {
        waiting_for_(c);
        std::rethrow_exception(done_.launched[c]->error);
      }
      has_ended_[op_of_[c]] = true;
      ++n_ended_;
    }
    while (first_ < done_.launched.size() && has_ended_[op_of_[first_]]) ++first_;
    return n_ended_ > seen;
  }

  void wait() {
    DDPSIM_CHECK(computes_ || first_ < done_.launched.size(), "a program goes on");
    if (!computes_) waiting_for_(first_);
    ends_->wait(n_ended_, computes_ ? std::optional(done_.end) : std::nullopt);
  }

  const std::vector<Op>& ops_;
  std::optional<std::size_t> before_last_backward_;
  double slowdown_;
  int in_flight_;
  const Launch& launch_;
  const CollectiveBackend::WaitingFor& waiting_for_;
  std::vector<bool> has_ended_;                  // by op
  std::vector<std::size_t> collective_of_;       // by op
  std::vector<std::size_t> op_of_;               // by collective
  std::size_t compute_ = 0, communication_ = 0;  // the next op of each lane
  std::size_t first_ = 0, n_ended_ = 0;          // the first collective that has not ended; how many have
  bool computes_ = false;                        // until done_.end
  LanesDone done_;
  std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();  // outlives this where it throws
};

}  // namespace

LanesDone run_lanes(const Step& step, double slowdown, int in_flight, Moment start, const Launch& launch,
                    const CollectiveBackend::WaitingFor& waiting_for) {
  return LaneRun(step, slowdown, in_flight, start, launch, waiting_for).take();
}

}  // namespace ddpsim::validate
