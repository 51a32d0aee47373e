#pragma once
// Puts the ops of a sharded strategy's step one after the other.
#include <optional>
#include <vector>

#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

class StepBuilder {
 public:
  StepBuilder(std::size_t buckets, const Overheads& overheads, std::size_t communicators = 1)
      : overheads_(overheads) {
    result_.ready.resize(buckets);
    result_.program.communicators = communicators;
  }

  // Waits for all that wait() was given since the last one.
  std::size_t compute(Activity activity, std::size_t index, Seconds duration);
  // Of the host or links.
  std::size_t fixed(Activity activity, std::size_t index, Seconds duration);
  // The next compute op waits for it.
  void wait(std::size_t op) { awaited_.push_back(op); }
  // Starts when all compute so far has ended.
  std::size_t collective(Activity activity, Operation operation, std::size_t index, Bytes bytes);
  // On that communicator, when those have ended; so much longer than its bytes take.
  std::size_t collective(std::size_t communicator, Activity activity, Operation operation, std::size_t index,
                         Bytes bytes, std::vector<std::size_t> after, Seconds longer = {});
  // So many passes over bytes of which each is moved so far: nothing where they cost nothing.
  void pass(Activity activity, std::size_t index, double passes, Bytes moved);
  [[nodiscard]] Seconds pass_time(double passes, Bytes moved) const;

  void set_ready(std::size_t bucket) { result_.ready[bucket] = last_compute_; }
  void start_last_backward() { result_.before_last_backward = last_compute_; }
  [[nodiscard]] const std::optional<std::size_t>& last_compute() const { return last_compute_; }
  [[nodiscard]] const Passes& passes() const { return overheads_.passes; }
  StepProgram take() { return std::move(result_); }

 private:
  const Overheads& overheads_;
  StepProgram result_;
  std::vector<std::size_t> awaited_;
  std::optional<std::size_t> last_compute_;
  bool has_communicated_ = false;
};

}  // namespace ddpsim
