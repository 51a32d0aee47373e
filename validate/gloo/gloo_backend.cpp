#include "validate/gloo/gloo_backend.hpp"

#include <algorithm>
#include <concepts>

#include "validate/gloo/flight_times.hpp"
#include "validate/gloo/lane_run.hpp"
#include "validate/gloo/processor_share.hpp"
#include <fmt/core.h>
#include <torch/torch.h>

#include "sim/base/one_line.hpp"
#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

class GlooBackend : public CollectiveBackend {
 public:
  explicit GlooBackend(GlooGroup group)
      : group_(std::move(group.process_group)),
        environment_(std::move(group.environment)),
        lane_(group_, group_->getOptions()->threads, [is_first = group.prioritised] {
          if (is_first) take_priority(Priority::communication);
        }) {}

  ~GlooBackend() override { restore_priority(); }

  std::string name() const override { return "gloo"; }
  int rank() const override { return group_->getRank(); }
  int world_size() const override { return group_->getSize(); }
  Environment environment() const override { return environment_; }

  void allocate(std::size_t elements) override {
    buffer_ = torch::zeros({static_cast<std::int64_t>(elements)});
  }
  void write(std::size_t first, std::span<const float> values) override {
    auto target = at({first, values.size()});
    std::copy(values.begin(), values.end(), target.data_ptr<float>());
  }
  std::vector<float> read(Range range) override {
    auto source = at(range);
    const auto* values = source.data_ptr<float>();
    return {values, values + range.count};
  }
  void broadcast(Range range) override {
    std::vector<torch::Tensor> tensors{at(range)};
    guarded("a broadcast", [&] { group_->broadcast(tensors)->wait(); });
  }
  std::vector<double> maximum(const std::vector<double>& values) override {
    auto tensor = torch::tensor(values, torch::kDouble);
    std::vector<torch::Tensor> tensors{tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    guarded("an exchange of times", [&] { group_->allreduce(tensors, options)->wait(); });
    const auto* largest = tensor.data_ptr<double>();
    return {largest, largest + values.size()};
  }

  StepTimes perform(const Step& step, double slowdown, const WaitingFor& waiting_for) override {
    guarded("a barrier", [&] { group_->barrier()->wait(); });
    auto start = now();
    auto collectives = step.collectives();
    std::size_t awaited = 0;
    auto name = [&] {
      return fmt::format("{} {}", operation_words(collectives.at(awaited)->operation), awaited);
    };
    Launch launch = [&](std::size_t c, std::function<void()> ended) {
      return lane_.launch(collectives[c]->operation, at(step.ranges[c]), static_cast<int>(c),
                          std::move(ended));
    };
    LanesDone done;
    guarded(name, [&] {
      done = run_lanes(step, slowdown, group_->getOptions()->threads, start, launch, [&](std::size_t c) {
        awaited = c;
        waiting_for(c);
      });
    });
    std::vector<Flight> flights;
    for (const auto& one : done.launched) flights.push_back({one->launch, one->end});
    return {between(start, done.end), times_of(flights, group_->getOptions()->threads, start),
            between(start, done.backward_start)};
  }

 private:
  [[nodiscard]] torch::Tensor at(Range range) const {
    return buffer_.narrow(0, static_cast<std::int64_t>(range.first), static_cast<std::int64_t>(range.count));
  }

  template <class Call>
  void guarded(const std::string& what, Call call) {
    guarded([&] { return what; }, call);
  }
  template <class Name, class Call>
  requires std::invocable<Name>
  void guarded(Name name, Call call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw RunFailed(fmt::format("rank {}: {} failed: {}", rank(), name(), one_line(error.what())));
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  Environment environment_;
  torch::Tensor buffer_;
  CollectiveLane lane_;
};

}  // namespace

std::unique_ptr<CollectiveBackend> make_gloo_backend(GlooGroup group) {
  return std::make_unique<GlooBackend>(std::move(group));
}

}  // namespace ddpsim::validate
