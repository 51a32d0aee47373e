#include "validate/gloo/gloo_trainer.hpp"

#include <algorithm>
#include <cmath>

#include "traces/capture/captured_steps.hpp"
#include "traces/capture/gradient_hooks.hpp"
#include "traces/capture/training.hpp"
#include "validate/gloo/gradient_reduction.hpp"
#include "validate/harness/verification.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include "sim/base/check.hpp"
#include "sim/base/one_line.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim::validate {
namespace {

CaptureOptions training_options(const TrainedModel& model, int rank) {
  CaptureOptions options;
  options.model = model.name;
  options.batch = model.batch;
  options.sequence = model.sequence;
  options.optimizer = "sgd";
  options.dropout = 0;  // so that gradients can be computed twice
  options.threads = 1;
  options.seed = static_cast<std::uint64_t>(rank);
  return options;
}

class GlooTrainer : public Trainer {
 public:
  GlooTrainer(const GlooGroup& group, CollectiveBackend& backend, const TrainedModel& model)
      : group_(group.process_group),
        backend_(backend),
        model_(model),
        training_(training_options(model, backend.rank())) {
    take_weights();
  }

  void prepare(const Step& step) override {
    if (diverged_) take_weights();
    reduction_.reset();  // its hooks, before there are others
    options_ = *step.reduction;
    iterations_ = 0;
    warm_up_ = static_cast<std::size_t>(step.sampling.warm_up);
    captured_.clear();
    guarded("preparing",
            [&] { reduction_ = make_gradient_reduction(options_, group_, training_.parameters()); });
  }

  StepTimes once(const Step&, const WaitingFor&) override {
    training_.zero_gradients();
    guarded("a barrier", [&] { group_->barrier()->wait(); });
    return options_.kind == Reduction::Kind::none ? train_alone() : train();
  }

  void verify(const Step& step, const WaitingFor&) override {
    std::vector<torch::Tensor> expected;
    guarded("checking gradients", [&] {
      expected = averages();
      training_.zero_gradients();
      reduction_->start_iteration();
      micro_batches();
    });
    for (std::size_t i = 0; i < expected.size(); ++i) compare(i, expected[i]);
    if (iterations_++ > 0) check_buckets(step);  // before its second iteration DDP has other buckets
  }

  void require_equal() override {
    if (diverged_) return;
    std::vector<double> digests;
    for (const auto& parameter : training_.parameters()) {
      auto values = parameter.detach().contiguous();
      for (double part : digest({values.data_ptr<float>(), static_cast<std::size_t>(values.numel())}))
        digests.push_back(part);
    }
    require_equal_on_all_ranks(backend_, digests, "parameters");
  }

  std::string trace() override {
    DDPSIM_CHECK(captured_.size() > warm_up_, "a step without reduction was measured");
    std::vector<CapturedParameter> parameters;
    for (std::size_t i = 0; i < training_.names().size(); ++i)
      parameters.push_back({training_.names()[i], training_.parameters()[i].numel(), DType::float32});
    auto trace = trace_of_steps(parameters,
                                {captured_.begin() + static_cast<std::ptrdiff_t>(warm_up_), captured_.end()});
    trace.metadata.model = model_.name;
    trace.metadata.batch_size = model_.batch;
    trace.metadata.sequence_length = model_.sequence;
    trace.metadata.torch = TORCH_VERSION;
    trace.metadata.source = fmt::format(
        "ddpsim validate: {} ranks train at once and do not communicate; of each time the slowest rank's",
        backend_.world_size());
    return write_trace(trace);
  }

 private:
  template <class Call>
  void guarded(std::string_view what, Call call) {
    try {
      call();
    } catch (const c10::Error& error) {
      throw RunFailed(fmt::format("rank {}: {} failed: {}", backend_.rank(), what,
                                  one_line(error.what_without_backtrace())));
    } catch (const std::exception& error) {
      throw RunFailed(fmt::format("rank {}: {} failed: {}", backend_.rank(), what, one_line(error.what())));
    }
  }

  // Rank 0's, as DistributedDataParallel does when it is built.
  void take_weights() {
    torch::NoGradGuard no_gradients;
    guarded("broadcasting the parameters", [&] {
      for (const auto& parameter : training_.parameters()) {
        std::vector<at::Tensor> tensors{parameter.detach()};
        group_->broadcast(tensors)->wait();
      }
    });
    diverged_ = false;
    require_equal();
  }

  // Forward and backward passes of an iteration; the last reduces.
  void micro_batches() {
    for (int left = options_.accumulation_steps; left > 0; --left) {
      if (left == 1) reduction_->before_forward();
      auto loss = training_.forward();
      if (left == 1) reduction_->before_backward(loss);
      backward_ = now();
      loss.backward();
      if (left == 1) reduction_->after_backward();
    }
  }

  StepTimes train() {
    StepTimes times;
    guarded("training", [&] {
      reduction_->start_iteration();
      Moment start = now();
      micro_batches();
      training_.step();
      times = {between(start, now()), times_of(*group_, reduction_->launched(), backward_)};
    });
    ++iterations_;
    return times;
  }

  // Without communication, and with the moments that a layer trace has.
  StepTimes train_alone() {
    CapturedStep step;
    step.ready.resize(training_.parameters().size());
    Moment start = now(), backward = start;
    GradientHooks hooks(training_.parameters(), [&](std::size_t parameter) {
      step.arrival.push_back(parameter);
      step.ready[parameter] = between(backward, now());
    });
    start = now();
    auto loss = training_.forward();
    backward = now();
    loss.backward();
    Moment optimizer = now();
    training_.step();
    Moment end = now();
    step.forward = between(start, backward);
    step.optimizer = between(optimizer, end);
    captured_.push_back(slowest(step));
    diverged_ = true;
    return {between(start, end), {}};
  }

  CapturedStep slowest(CapturedStep step) {
    std::vector<double> times{step.forward.value(), step.optimizer.value()};
    for (auto ready : step.ready) times.push_back(ready.value());
    times = backend_.maximum(times);
    step.forward = Seconds(times[0]);
    step.optimizer = Seconds(times[1]);
    for (std::size_t i = 0; i < step.ready.size(); ++i) step.ready[i] = Seconds(times[i + 2]);
    return step;
  }

  // Of the gradients that each rank computes by itself.
  std::vector<torch::Tensor> averages() {
    training_.zero_gradients();
    training_.forward().backward();
    std::vector<torch::Tensor> averages;
    for (const auto& parameter : training_.parameters()) {
      averages.push_back(parameter.grad().clone().mul_(options_.accumulation_steps).div_(group_->getSize()));
      launch_all_reduce(*group_, averages.back()).work->wait();
    }
    return averages;
  }

  void compare(std::size_t parameter, const torch::Tensor& expected) {
    constexpr double kRoundOff = 1e-5;  // of float32 sums in another order
    const auto& reduced = training_.parameters()[parameter].grad();
    double scale = expected.abs().max().item<double>();
    double difference = reduced.defined() ? (reduced - expected).abs().max().item<double>() : INFINITY;
    if (!(difference <= kRoundOff * scale + 1e-12))
      throw RunFailed(fmt::format(
          "rank {}: the reduced gradient of {} is {} off the average over the ranks, of at most {}",
          backend_.rank(), training_.names()[parameter], difference, scale));
  }

  // What was reduced together, against what the plan of the scenario says.
  void check_buckets(const Step& step) {
    std::vector<double> planned, reduced;
    for (const auto& range : step.ranges) planned.push_back(range.bytes().value());
    for (const auto& one : reduction_->launched()) reduced.push_back(one.bytes.value());
    if (options_.kind != Reduction::Kind::ddp) {  // whose order is its own
      std::sort(planned.begin(), planned.end());
      std::sort(reduced.begin(), reduced.end());
    }
    if (planned == reduced) return;
    throw RunFailed(fmt::format(
        "rank {}: PyTorch reduced {} buckets of {} bytes, and the scenario has {} of {}", backend_.rank(),
        reduced.size(), fmt::join(reduced, ", "), planned.size(), fmt::join(planned, ", ")));
  }

  ProcessGroup group_;
  CollectiveBackend& backend_;
  TrainedModel model_;
  Training training_;
  Reduction options_;
  std::unique_ptr<GradientReduction> reduction_;
  std::size_t warm_up_ = 0;
  Moment backward_ = 0;    // the start of the last backward pass
  int iterations_ = 0;     // with this reduction
  bool diverged_ = false;  // the ranks' parameters, by training alone
  std::vector<CapturedStep> captured_;
};

}  // namespace

std::unique_ptr<Trainer> make_gloo_trainer(const GlooGroup& group, CollectiveBackend& backend,
                                           const Job& job) {
  DDPSIM_CHECK(job.model, "a job that trains has a model");
  return std::make_unique<GlooTrainer>(group, backend, *job.model);
}

}  // namespace ddpsim::validate
