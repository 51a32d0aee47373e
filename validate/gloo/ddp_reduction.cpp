#include <algorithm>
#include <unordered_map>

#include "validate/gloo/gradient_reduction.hpp"
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace ddpsim::validate {
namespace {

// What DistributedDataParallel does without a hook, and the times. (CppCommHookInterface needs a symbol that
// LibTorch does not export.)
class TimingHook : public c10d::CommHookInterface {
 public:
  TimingHook(ProcessGroup group, std::vector<LaunchedAllReduce>& launched)
      : group_(std::move(group)), launched_(launched) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    bucket.getBufferRef().div_(group_->getSize());
    launched_.push_back(launch_all_reduce(*group_, bucket.getBufferRef()));
    return launched_.back().work->getFuture();
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensor() ? result.toTensor() : result.toTensorVector()[0];
  }

 private:
  ProcessGroup group_;
  std::vector<LaunchedAllReduce>& launched_;
};

class Ddp : public GradientReduction {
 public:
  // As torch.nn.parallel.DistributedDataParallel._ddp_init_helper builds it.
  Ddp(const Reduction& reduction, const ProcessGroup& group, const std::vector<torch::Tensor>& parameters) {
    std::vector<bool> sparse(parameters.size(), false);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        parameters, {reduction.first_bucket_cap, reduction.bucket_cap}, sparse);
    std::reverse(buckets.begin(), buckets.end());
    std::reverse(limits.begin(), limits.end());
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t i = 0; i < parameters.size(); ++i) names[i] = "parameter " + std::to_string(i);
    reducer_ = std::make_shared<c10d::Reducer>(
        parameters, buckets, limits, group, sparse, static_cast<std::int64_t>(reduction.bucket_cap), false,
        reduction.gradient_as_bucket_view, names, static_cast<std::int64_t>(reduction.first_bucket_cap));
    reducer_->register_comm_hook(std::make_unique<TimingHook>(group, launched_));
  }
  void before_forward() override {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();  // once, after the first iteration
  }
  void before_backward(const torch::Tensor& loss) override { reducer_->prepare_for_backward({loss}); }

 private:
  std::shared_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_ddp_reduction(const Reduction& reduction, const ProcessGroup& group,
                                                      const std::vector<torch::Tensor>& parameters) {
  return std::make_unique<Ddp>(reduction, group, parameters);
}

}  // namespace ddpsim::validate
