#pragma once
// Puts the ops of a rank's step one after the other.
#include <optional>
#include <vector>

#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

class StepBuilder {
 public:
  explicit StepBuilder(const Overheads& overheads, std::size_t communicators = 1) : overheads_(overheads) {
    result_.program.communicators = communicators;
  }

  // Waits for all that wait() was given since the last one.
  std::size_t compute(Activity activity, std::size_t index, Seconds duration);
  // Longer by that, where the op before is the same and nothing has come between; nothing: none.
  void extend(Activity activity, std::size_t index, Seconds duration);
  // What extend() adds to next starts an op.
  void cut() { is_cut_ = true; }
  // Of the host or links.
  std::size_t fixed(Activity activity, std::size_t index, Seconds duration);
  // The next compute op waits for it. One that waited for all that is awaited stands for them.
  void wait(std::size_t op);
  // It stands for all that is awaited.
  void wait_only_for(std::size_t op) {
    awaited_.clear();
    wait(op);
  }
  // What the next compute op would wait for.
  [[nodiscard]] std::vector<std::size_t> pending() const;

  // Of the strategy's first communicator; starts when all compute so far has ended.
  std::size_t collective(Activity activity, Operation operation, std::size_t index, Bytes bytes);
  // On that communicator of the strategy, when those have ended; so much longer than its bytes take.
  std::size_t collective(std::size_t communicator, Activity activity, Operation operation, std::size_t index,
                         Bytes bytes, std::vector<std::size_t> after, Seconds longer = {});
  // Starts when a compute op would.
  std::size_t collective_in_turn(std::size_t communicator, Activity activity, Operation operation,
                                 std::size_t index, Bytes bytes);
  // What the schedule of stages exchanges: communicators by their place in the program.
  std::size_t exchange(std::size_t communicator, Activity activity, Operation operation, std::size_t index,
                       Bytes bytes, std::vector<std::size_t> after);
  // How many collectives there are, messages apart.
  [[nodiscard]] std::size_t launched() const { return launched_; }
  // The strategy's communicators are the program's from there on.
  void set_first_of_strategy(std::size_t communicator) { first_ = communicator; }

  // So many passes over bytes of which each is moved so far: nothing where they cost nothing.
  void pass(Activity activity, std::size_t index, double passes, Bytes moved);
  [[nodiscard]] Seconds pass_time(double passes, Bytes moved) const;

  void set_ready(std::size_t bucket);
  void start_last_backward() { result_.before_last_backward = last_compute_; }
  [[nodiscard]] const std::optional<std::size_t>& last_compute() const { return last_compute_; }
  [[nodiscard]] const Overheads& overheads() const { return overheads_; }
  [[nodiscard]] const Passes& passes() const { return overheads_.passes; }
  StepProgram take() { return std::move(result_); }

 private:
  std::size_t launch(std::size_t communicator, Activity activity, Operation operation, std::size_t index,
                     Bytes bytes, std::vector<std::size_t> after, Seconds longer);

  const Overheads& overheads_;
  StepProgram result_;
  std::vector<std::size_t> awaited_;
  std::optional<std::size_t> covers_awaited_;  // a collective that waited for all of them
  std::optional<std::size_t> last_compute_;
  bool is_cut_ = false, has_communicated_ = false;
  std::size_t first_ = 0, launched_ = 0;
};

// Without what goes over those communicators, of one rank each: who waits for it waits for what it waited
// for.
StepProgram without_communicators(StepProgram step, const std::vector<bool>& is_alone);

}  // namespace ddpsim
