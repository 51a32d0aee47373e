#include "sim/program/data_parallel.hpp"

#include <algorithm>
#include <utility>

#include "sim/program/power_sgd.hpp"

namespace ddpsim {
namespace {

// What is all-reduced, in launch order.
struct Reduction {
  Activity activity;
  std::size_t bucket;
  Bytes bytes;
};

// A bucket each, and the used-parameter bitmap where the plan has one: reducer.cpp all_reduce_local_used_map
// queues it right after the last bucket; before all of them where the first iteration of a static graph
// reduces everything at the end (delay_all_reduce).
std::vector<Reduction> reductions_of(const ReductionPlan& plan) {
  std::vector<Reduction> reductions;
  reductions.reserve(plan.buckets.size() + 1);
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    reductions.push_back({Activity::all_reduce, i, plan.buckets[i].wire});
  if (plan.used_parameter_bitmap)
    reductions.insert(plan.launch == LaunchRule::after_backward ? reductions.begin() : reductions.end(),
                      {Activity::used_parameter_bitmap, 0, *plan.used_parameter_bitmap});
  return reductions;
}

class AllReduceAxis final : public DataAxis {
 public:
  AllReduceAxis(const LayerTrace& trace, const ReductionPlan& plan, StepBuilder& step)
      : DataAxis(step),
        trace_(trace),
        plan_(plan),
        overheads_(step.overheads()),
        reductions_(reductions_of(plan)) {}

  // Buffers are broadcast before the first forward pass whose backward pass reduces, or all whose does.
  void forward(const Turn& turn) override {
    if (turn.is_first || plan_.reduces_every_micro_batch) broadcast_buffers();
    step_.extend(Activity::forward, turn.micro_batch, trace_.forward.value_or(Seconds(0)));
  }
  void backward(const Turn& turn) override {
    // Hooks do nothing under no_sync.
    if (!turn.is_last && !plan_.reduces_every_micro_batch)
      return step_.extend(Activity::backward, turn.micro_batch, turn.pace * trace_.backward());
    if (!turn.is_first && plan_.reduces_every_micro_batch) step_.start_last_backward();
    reduced_backward(turn);
    if (!turn.is_last) finish();
  }
  // DistributedDataParallel waits for all buckets before backward() returns (reducer.cpp, finalize_backward).
  void finish() override {
    if (plan_.launch == LaunchRule::after_backward)
      for (std::size_t b = 0; b < plan_.buckets.size(); ++b)
        pass(Activity::copy_in, b, plan_.buckets[b].bytes, passes_of(b).in);
    // A loop over the parameters goes on once the one before is reduced.
    bool is_loop = plan_.reducer == Reducer::naive;
    while (!is_loop && launched_as_.size() < reductions_.size()) launch(launched_as_.size());
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      if (is_loop) launch(i);
      if (launched_as_[i]) step_.wait(*launched_as_[i]);
      if (reductions_[i].activity != Activity::all_reduce) continue;
      auto bucket = reductions_[i].bucket;
      pass(Activity::copy_out, bucket, plan_.buckets[bucket].bytes,
           (launched_as_[i] ? hook_passes(plan_.buckets[bucket]).out : 0) + passes_of(bucket).out);
    }
    launched_as_.clear();
  }
  [[nodiscard]] Seconds optimizer() const override { return trace_.optimizer.value_or(Seconds(0)); }

 private:
  // On the communicator whose turn it is (ProcessGroupRoundRobin.cpp).
  std::size_t all_reduce(Activity activity, std::size_t bucket, Bytes bytes) {
    auto groups = static_cast<std::size_t>(plan_.process_groups);
    bool of_experts = activity == Activity::all_reduce && plan_.buckets[bucket].of_experts;
    return step_.collective_in_turn(of_experts ? groups : turn_++ % groups, activity, Operation::all_reduce,
                                    bucket, bytes);
  }

  // distributed.py, _sync_buffers: one after the other, and nothing beside them.
  void broadcast_buffers() {
    for (auto bytes : plan_.buffer_broadcasts)
      step_.wait(step_.collective_in_turn(0, Activity::broadcast, Operation::broadcast, 0, bytes));
  }

  // Each reads every byte and writes every byte.
  void pass(Activity activity, std::size_t bucket, Bytes bytes, double passes) {
    if (passes > 0)
      step_.extend(activity, bucket,
                   passes * (overheads_.pass_launch + 2 * bytes / *overheads_.pass_bandwidth));
  }
  [[nodiscard]] const Passes& passes_of(std::size_t bucket) const {
    return plan_.buckets[bucket].gradients.size() == 1 ? overheads_.passes_of_one : overheads_.passes;
  }

  void reduced_backward(const Turn& turn) {
    auto completing = completing_gradients(trace_, plan_);
    auto order = buckets_by(completing);
    bool when_ready = plan_.launch == LaunchRule::when_ready;
    bool has_hooks = when_ready && (overheads_.gradient > Seconds(0) || overheads_.passes.in > 0 ||
                                    overheads_.passes_of_one.in > 0);
    auto bucket_of = has_hooks ? buckets_of_gradients() : std::vector<std::size_t>();
    std::size_t ready = 0;
    // Gradients arrive with the last one of their subgraph, where there are any.
    auto arrives_with = [this](std::size_t g) {
      return plan_.subgraph_end.empty() ? g : plan_.subgraph_end[g];
    };
    for (std::size_t g = 0; g < trace_.gradients.size(); ++g) {
      auto arrived = g;
      auto next = g;
      // Nothing else happens until the next bucket is complete, or the backward pass ends.
      if (!has_hooks) next = ready < order.size() ? completing[order[ready]] : trace_.gradients.size() - 1;
      Seconds duration = until(g);
      for (next = arrives_with(next); g < next;) duration += until(++g);
      step_.extend(Activity::backward, turn.micro_batch, turn.pace * duration);
      for (; ready < order.size() && completing[order[ready]] <= g; ++ready) {
        step_.set_ready(order[ready]);
        step_.cut();
      }
      if (!when_ready) continue;
      for (; arrived <= g; ++arrived) {
        if (is_unused(arrived)) continue;
        if (has_hooks) {
          auto bucket = bucket_of[arrived];
          step_.extend(Activity::launch, bucket, overheads_.gradient);
          pass(Activity::copy_in, bucket, trace_.gradients[arrived].bytes(), passes_of(bucket).in);
        }
        while (launched_as_.size() < reductions_.size() &&
               is_launched_by(arrived, launched_as_.size(), completing))
          launch(launched_as_.size());
      }
    }
  }

  // What the backward pass takes from the gradient before to this one.
  [[nodiscard]] Seconds until(std::size_t gradient) const {
    return trace_.gradients[gradient].ready -
           (gradient == 0 ? Seconds(0) : trace_.gradients[gradient - 1].ready);
  }

  // A bitmap is launched right after the last bucket.
  [[nodiscard]] bool is_launched_by(std::size_t gradient, std::size_t reduction,
                                    const std::vector<std::size_t>& completing) const {
    const auto& one = reductions_[reduction];
    return one.activity != Activity::all_reduce || completing[one.bucket] <= gradient;
  }

  // Of default_hooks.py, compress_wrapper: the bucket is cast, the cast divided; afterwards it is cast back.
  // A cast reads and writes, each side in its own dtype; none where the gradients have 16 bits already.
  [[nodiscard]] Passes hook_passes(const Bucket& bucket) const {
    if (!overheads_.compresses) return {};
    if (plan_.comm_hook == CommHook::power_sgd) return {1, 0};  // _allreduce_fut divides
    double cast = bucket.wire == bucket.bytes ? 0 : (1 + bucket.wire / bucket.bytes) / 2;
    return {cast + bucket.wire / bucket.bytes, cast};
  }

  void launch(std::size_t reduction) {
    const auto& [activity, bucket, bytes] = reductions_[reduction];
    if (plan_.low_rank && activity == Activity::all_reduce) return reduce_compressed(bucket);
    if (activity == Activity::all_reduce)
      pass(Activity::copy_in, bucket, plan_.buckets[bucket].bytes, hook_passes(plan_.buckets[bucket]).in);
    step_.extend(Activity::launch, bucket, overheads_.launch);
    launched_as_.push_back(all_reduce(activity, bucket, bytes));
  }

  // Of powerSGD_hook.py: a chain of futures, at whose end the host waits for the GPU (torch.cuda.synchronize
  // in decompress). NCCL's futures are complete as soon as their kernels are launched, so the chain runs in
  // the hook, and the backward pass goes on once the bucket is reduced.
  void reduce_compressed(std::size_t bucket) {
    const auto& one = plan_.buckets[bucket];
    auto elements = low_rank_elements(*plan_.low_rank, one.gradients);
    CompressionTimes times;
    if (overheads_.compresses) times = compression_times(one, *plan_.low_rank, overheads_);
    step_.extend(Activity::compress, bucket, times.before);
    reduce_part(bucket, elements.whole);
    step_.extend(Activity::compress, bucket, times.unpack);
    reduce_part(bucket, elements.p);
    step_.extend(Activity::compress, bucket, times.between);
    reduce_part(bucket, elements.q);
    step_.extend(Activity::compress, bucket, times.after);
    launched_as_.push_back(std::nullopt);
  }
  void reduce_part(std::size_t bucket, std::int64_t elements) {
    if (elements == 0) return;
    step_.extend(Activity::launch, bucket, overheads_.launch);
    step_.wait(
        all_reduce(Activity::all_reduce, bucket,
                   Bytes(static_cast<double>(elements) * bytes_per_element(plan_.buckets[bucket].dtype))));
  }

  [[nodiscard]] bool is_unused(std::size_t gradient) const {
    return trace_.gradients[gradient].is_frozen ||
           std::binary_search(plan_.unused.begin(), plan_.unused.end(), gradient);
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
  std::vector<Reduction> reductions_;
  std::vector<std::optional<std::size_t>> launched_as_;  // by reduction: its op; none: it was waited for
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<DataAxis> all_reduce_axis(const LayerTrace& trace, const ReductionPlan& plan,
                                          StepBuilder& step) {
  return std::make_unique<AllReduceAxis>(trace, plan, step);
}

StepProgram data_parallel_program(const LayerTrace& trace, const ReductionPlan& plan,
                                  const Overheads& overheads) {
  StepBuilder step(overheads, static_cast<std::size_t>(plan.process_groups));
  return step_of(step, *all_reduce_axis(trace, plan, step), plan.accumulation_steps);
}

Seconds compute_before_last_backward(const LayerTrace& trace, const ReductionPlan& plan) {
  double steps = plan.accumulation_steps;
  return steps * trace.forward.value_or(Seconds(0)) + (steps - 1) * trace.backward();
}

}  // namespace ddpsim
