#pragma once
// Steps as tests write them: what is called is what their programs do.
#include <string>
#include <utility>
#include <vector>

#include "validate/harness/step.hpp"

namespace ddpsim::validate::test {

class RecordedStep {
 public:
  explicit RecordedStep(std::string name = "a step") { step_.name = std::move(name); }

  void compute(Seconds duration) { add(duration, {}); }
  // Launched when all compute so far has ended.
  void all_reduce(Range range) { collective(Operation::all_reduce, range); }
  void all_gather(Range range) { collective(Operation::all_gather, range); }
  void reduce_scatter(Range range) { collective(Operation::reduce_scatter, range); }
  void collective(Operation operation, Range range) {
    step_.add(operation, range,
              last_compute_ ? std::vector<std::size_t>{*last_compute_} : std::vector<std::size_t>());
    launched_.push_back(step_.program.ops.size() - 1);
  }
  // Compute goes on when all collectives so far have ended.
  void wait() { wait_for(launched_); }
  void wait_for(std::vector<std::size_t> ops) { add(Seconds(0), std::move(ops)); }
  Step& step() { return step_; }

 private:
  void add(Seconds duration, std::vector<std::size_t> after) {
    Op op;
    op.duration = duration;
    op.after = std::move(after);
    last_compute_ = step_.program.ops.size();
    step_.program.ops.push_back(std::move(op));
  }

  Step step_;
  std::vector<std::size_t> launched_;
  std::optional<std::size_t> last_compute_;
};

}  // namespace ddpsim::validate::test
