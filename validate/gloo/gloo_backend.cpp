#include "validate/gloo/gloo_backend.hpp"

#include <algorithm>

#include "validate/gloo/launched_all_reduce.hpp"
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
      : group_(std::move(group.process_group)), environment_(std::move(group.environment)) {}

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

  void start_step() override {
    launched_.clear();
    guarded("a barrier", [&] { group_->barrier()->wait(); });
    start_ = computed_ = now();
  }
  // Moments follow each other exactly, however late a wait returned: a delay at one of them does not push the
  // others.
  void compute(Seconds duration) override {
    computed_ += static_cast<Moment>(1e9 * duration.value());
    sleep_until(computed_);
  }
  void all_reduce(Range range) override {
    guarded("launching an all-reduce", [&] { launched_.push_back(launch_all_reduce(*group_, at(range))); });
  }
  void wait(const WaitingFor& waiting_for) override {
    for (std::size_t i = 0; i < launched_.size(); ++i) {
      waiting_for(i);
      guarded(fmt::format("all-reduce {}", i), [&] { launched_[i].work->wait(); });
    }
    computed_ = std::max(computed_, now());
  }
  StepTimes finish_step(const WaitingFor& waiting_for) override {
    wait(waiting_for);
    return {between(start_, computed_), times_of(*group_, launched_, start_)};
  }

 private:
  [[nodiscard]] torch::Tensor at(Range range) const {
    return buffer_.narrow(0, static_cast<std::int64_t>(range.first), static_cast<std::int64_t>(range.count));
  }

  template <class Call>
  void guarded(const std::string& what, Call call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw RunFailed(fmt::format("rank {}: {} failed: {}", rank(), what, one_line(error.what())));
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  Environment environment_;
  torch::Tensor buffer_;
  Moment start_ = 0, computed_ = 0;
  std::vector<LaunchedAllReduce> launched_;
};

}  // namespace

std::unique_ptr<CollectiveBackend> make_gloo_backend(GlooGroup group) {
  return std::make_unique<GlooBackend>(std::move(group));
}

}  // namespace ddpsim::validate
