#include "sim/engine/compute_program.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

using Kind = ComputeStep::Kind;

class Program {
 public:
  Program(const Scenario& scenario, const std::vector<CollectiveRequest>& requests)
      : trace_(*scenario.trace),
        plan_(scenario.plan),
        overheads_(scenario.physics.overheads),
        requests_(requests) {}

  std::vector<ComputeStep> take() {
    auto last = static_cast<std::size_t>(plan_.accumulation_steps) - 1;
    for (std::size_t step = 0; step <= last; ++step) {
      work(Activity::forward, step, trace_.forward.value_or(Seconds(0)));
      // Hooks do nothing under no_sync, in all micro-batches but the last.
      if (step < last) work(Activity::backward, step, trace_.backward());
    }
    last_backward(last);
    finish();
    work(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds(0)));
    return std::move(steps_);
  }

 private:
  void work(Activity activity, std::size_t index, Seconds duration) {
    if (duration > Seconds(0)) steps_.push_back({Kind::work, activity, index, duration});
  }
  // Each reads every byte and writes every byte.
  void pass(Activity activity, std::size_t bucket, Bytes bytes, double passes) {
    if (passes > 0)
      work(activity, bucket, passes * (overheads_.pass_launch + 2 * bytes / *overheads_.pass_bandwidth));
  }
  [[nodiscard]] const Passes& passes_of(std::size_t bucket) const {
    return plan_.buckets[bucket].gradients.size() == 1 ? overheads_.passes_of_one : overheads_.passes;
  }

  void last_backward(std::size_t micro_batch) {
    auto completing = completing_gradients(trace_, plan_);
    bool when_ready = plan_.launch == LaunchRule::when_ready;
    std::size_t ready = 0, launched = 0, n = trace_.gradients.size();
    auto order = buckets_by(completing);
    auto bucket_of = buckets_of_gradients();
    Seconds before;
    for (std::size_t g = 0; g < n; ++g) {
      work(Activity::backward, micro_batch, trace_.gradients[g].ready - before);
      before = trace_.gradients[g].ready;
      for (; ready < order.size() && completing[order[ready]] == g; ++ready)
        steps_.push_back({Kind::ready, Activity::backward, order[ready], {}});
      if (is_unused(g)) continue;
      if (when_ready) work(Activity::launch, bucket_of[g], overheads_.gradient);
      if (when_ready)
        pass(Activity::copy_in, bucket_of[g], trace_.gradients[g].bytes(), passes_of(bucket_of[g]).in);
      while (when_ready && launched < requests_.size() && is_launched_by(g, launched, completing))
        launch(launched++);
    }
    if (!when_ready)
      for (std::size_t b = 0; b < plan_.buckets.size(); ++b)
        pass(Activity::copy_in, b, plan_.buckets[b].bytes, passes_of(b).in);
    // A loop over the parameters goes on once the one before is reduced.
    if (plan_.strategy == Strategy::naive) return;
    while (launched < requests_.size()) launch(launched++);
  }

  // A bitmap is launched right after the last bucket.
  [[nodiscard]] bool is_launched_by(std::size_t gradient, std::size_t request,
                                    const std::vector<std::size_t>& completing) const {
    const auto& asked = requests_[request];
    return asked.activity != Activity::all_reduce || completing[asked.index] <= gradient;
  }

  // Of default_hooks.py, compress_wrapper: the bucket is cast, the cast divided; afterwards it is cast back.
  // A cast reads and writes, each side in its own dtype; none where the gradients have 16 bits already.
  [[nodiscard]] Passes hook_passes(const Bucket& bucket) const {
    if (!overheads_.casts) return {};
    double cast = bucket.wire == bucket.bytes ? 0 : (1 + bucket.wire / bucket.bytes) / 2;
    return {cast + bucket.wire / bucket.bytes, cast};
  }
  void compress(const CollectiveRequest& request) {
    if (request.activity != Activity::all_reduce) return;
    const auto& bucket = plan_.buckets[request.index];
    pass(Activity::copy_in, request.index, bucket.bytes, hook_passes(bucket).in);
  }

  void launch(std::size_t request) {
    compress(requests_[request]);
    work(Activity::launch, requests_[request].index, overheads_.launch);
    steps_.push_back({Kind::launch, Activity::launch, request, {}});
  }

  void finish() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (plan_.strategy == Strategy::naive) launch(i);
      steps_.push_back({Kind::wait, Activity::wait, i, {}});
      if (requests_[i].activity != Activity::all_reduce) continue;
      const auto& bucket = plan_.buckets[requests_[i].index];
      pass(Activity::copy_out, requests_[i].index, bucket.bytes,
           hook_passes(bucket).out + passes_of(requests_[i].index).out);
    }
  }

  [[nodiscard]] bool is_unused(std::size_t gradient) const {
    return std::binary_search(plan_.unused.begin(), plan_.unused.end(), gradient);
  }

  // In the order in which they are ready.
  static std::vector<std::size_t> buckets_by(const std::vector<std::size_t>& completing) {
    std::vector<std::size_t> order(completing.size());
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return completing[a] < completing[b]; });
    return order;
  }

  [[nodiscard]] std::vector<std::size_t> buckets_of_gradients() const {
    std::vector<std::size_t> bucket_of(trace_.gradients.size());
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b)
      for (auto gradient : plan_.buckets[b].gradients) bucket_of[gradient] = b;
    return bucket_of;
  }

  const LayerTrace& trace_;
  const ReductionPlan& plan_;
  const Overheads& overheads_;
  const std::vector<CollectiveRequest>& requests_;
  std::vector<ComputeStep> steps_;
};

}  // namespace

std::vector<ComputeStep> compute_program(const Scenario& scenario,
                                         const std::vector<CollectiveRequest>& requests) {
  return Program(scenario, requests).take();
}

}  // namespace ddpsim
