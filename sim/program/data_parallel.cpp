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

class Builder {
 public:
  Builder(const LayerTrace& trace, const ReductionPlan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), overheads_(overheads), reductions_(reductions_of(plan)) {
    result_.program.communicators = static_cast<std::size_t>(plan.process_groups);
    result_.ready.resize(plan.buckets.size());
    ops_.reserve(4 * reductions_.size() + 4);
  }

  StepProgram take() {
    auto last = static_cast<std::size_t>(plan_.accumulation_steps) - 1;
    for (std::size_t step = 0; step <= last; ++step) {
      bool reduces = step == last || plan_.reduces_every_micro_batch;
      // Before the first forward pass whose backward pass reduces, or of all whose does.
      if (step == 0 || plan_.reduces_every_micro_batch) broadcast_buffers();
      compute(Activity::forward, step, trace_.forward.value_or(Seconds(0)));
      // Hooks do nothing under no_sync.
      if (!reduces) {
        compute(Activity::backward, step, trace_.backward());
        continue;
      }
      if (step > 0 && plan_.reduces_every_micro_batch) result_.before_last_backward = last_compute_;
      reduced_backward(step);
      finish();
    }
    add_compute(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds(0)));
    return std::move(result_);
  }

 private:
  void compute(Activity activity, std::size_t index, Seconds duration) {
    if (duration <= Seconds(0)) return;
    if (last_compute_ && !is_cut_) {
      auto& op = ops_[*last_compute_];
      if (op.activity == activity && op.index == index) {
        op.duration += duration;
        return;
      }
    }
    add_compute(activity, index, duration);
  }
  void add_compute(Activity activity, std::size_t index, Seconds duration) {
    last_compute_ = ops_.size();
    is_cut_ = false;
    Op op;
    op.activity = activity;
    op.index = index;
    op.duration = duration;
    op.after = std::exchange(awaited_, {});
    covers_awaited_.reset();
    ops_.push_back(std::move(op));
  }
  // The next compute op starts another one, whatever it is.
  void cut() { is_cut_ = true; }

  void collective(Activity activity, std::size_t index, Operation operation, Bytes bytes) {
    Op op;
    op.kind = Op::Kind::collective;
    op.activity = activity;
    op.index = index;
    op.operation = operation;
    op.bytes = bytes;
    op.after = awaited_;
    if (last_compute_) op.after.push_back(*last_compute_);
    if (!awaited_.empty()) covers_awaited_ = ops_.size();
    ops_.push_back(std::move(op));
    cut();
  }
  // On the communicator whose turn it is (ProcessGroupRoundRobin.cpp).
  void all_reduce(Activity activity, std::size_t index, Bytes bytes) {
    collective(activity, index, Operation::all_reduce, bytes);
    ops_.back().communicator = turn_++ % result_.program.communicators;
  }
  // What comes next waits for it. A collective that waited for all that is awaited stands for that.
  void wait(std::size_t op) {
    if (covers_awaited_ == op) awaited_.clear();
    covers_awaited_.reset();
    awaited_.push_back(op);
    cut();
  }

  // distributed.py, _sync_buffers: one after the other, and nothing beside them.
  void broadcast_buffers() {
    for (auto bytes : plan_.buffer_broadcasts) {
      collective(Activity::broadcast, 0, Operation::broadcast, bytes);
      wait(ops_.size() - 1);
    }
  }

  // Each reads every byte and writes every byte.
  void pass(Activity activity, std::size_t bucket, Bytes bytes, double passes) {
    if (passes > 0)
      compute(activity, bucket, passes * (overheads_.pass_launch + 2 * bytes / *overheads_.pass_bandwidth));
  }
  [[nodiscard]] const Passes& passes_of(std::size_t bucket) const {
    return plan_.buckets[bucket].gradients.size() == 1 ? overheads_.passes_of_one : overheads_.passes;
  }

  void reduced_backward(std::size_t micro_batch) {
    auto completing = completing_gradients(trace_, plan_);
    auto order = buckets_by(completing);
    bool when_ready = plan_.launch == LaunchRule::when_ready;
    bool has_hooks = when_ready && (overheads_.gradient > Seconds(0) || overheads_.passes.in > 0 ||
                                    overheads_.passes_of_one.in > 0);
    auto bucket_of = has_hooks ? buckets_of_gradients() : std::vector<std::size_t>();
    std::size_t ready = 0, launched = 0;
    // Gradients arrive with the last one of their subgraph, where there are any.
    auto arrives_with = [this](std::size_t g) {
      return plan_.subgraph_end.empty() ? g : plan_.subgraph_end[g];
    };
    for (std::size_t g = 0; g < trace_.gradients.size(); ++g) {
      auto arrived = g;
      auto next = g;
      // Nothing else happens until the next bucket is complete, or the backward pass ends.
      if (!has_hooks) next = ready < order.size() ? completing[order[ready]] : trace_.gradients.size() - 1;
      Seconds duration = step_of(g);
      for (next = arrives_with(next); g < next;) duration += step_of(++g);
      compute(Activity::backward, micro_batch, duration);
      for (; ready < order.size() && completing[order[ready]] <= g; ++ready) {
        result_.ready[order[ready]] = last_compute_;
        cut();
      }
      if (!when_ready) continue;
      for (; arrived <= g; ++arrived) {
        if (is_unused(arrived)) continue;
        if (has_hooks) {
          auto bucket = bucket_of[arrived];
          compute(Activity::launch, bucket, overheads_.gradient);
          pass(Activity::copy_in, bucket, trace_.gradients[arrived].bytes(), passes_of(bucket).in);
        }
        while (launched < reductions_.size() && is_launched_by(arrived, launched, completing))
          launch(launched++);
      }
    }
    if (!when_ready)
      for (std::size_t b = 0; b < plan_.buckets.size(); ++b)
        pass(Activity::copy_in, b, plan_.buckets[b].bytes, passes_of(b).in);
    // A loop over the parameters goes on once the one before is reduced.
    if (plan_.reducer == Reducer::naive) return;
    while (launched < reductions_.size()) launch(launched++);
  }

  // Of the backward pass: what it takes from one gradient to the next.
  [[nodiscard]] Seconds step_of(std::size_t gradient) const {
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
    compute(Activity::launch, bucket, overheads_.launch);
    launched_as_.push_back(ops_.size());
    all_reduce(activity, bucket, bytes);
    if (!std::exchange(has_reduced_, true)) ops_.back().duration = overheads_.first_start;
  }

  // Of powerSGD_hook.py: a chain of futures, at whose end the host waits for the GPU (torch.cuda.synchronize
  // in decompress). NCCL's futures are complete as soon as their kernels are launched, so the chain runs in
  // the hook, and the backward pass goes on once the bucket is reduced.
  void reduce_compressed(std::size_t bucket) {
    const auto& one = plan_.buckets[bucket];
    auto elements = low_rank_elements(*plan_.low_rank, one.gradients);
    CompressionTimes times;
    if (overheads_.compresses) times = compression_times(one, *plan_.low_rank, overheads_);
    compute(Activity::compress, bucket, times.before);
    reduce_part(bucket, elements.whole);
    compute(Activity::compress, bucket, times.unpack);
    reduce_part(bucket, elements.p);
    compute(Activity::compress, bucket, times.between);
    reduce_part(bucket, elements.q);
    compute(Activity::compress, bucket, times.after);
    launched_as_.push_back(std::nullopt);
  }
  void reduce_part(std::size_t bucket, std::int64_t elements) {
    if (elements == 0) return;
    compute(Activity::launch, bucket, overheads_.launch);
    all_reduce(Activity::all_reduce, bucket,
               Bytes(static_cast<double>(elements) * bytes_per_element(plan_.buckets[bucket].dtype)));
    if (!std::exchange(has_reduced_, true)) ops_.back().duration = overheads_.first_start;
    wait(ops_.size() - 1);
  }

  // DistributedDataParallel waits for all buckets before backward() returns (reducer.cpp, finalize_backward).
  void finish() {
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      if (plan_.reducer == Reducer::naive) launch(i);
      if (launched_as_[i]) wait(*launched_as_[i]);
      if (reductions_[i].activity != Activity::all_reduce) continue;
      auto bucket = reductions_[i].bucket;
      pass(Activity::copy_out, bucket, plan_.buckets[bucket].bytes,
           (launched_as_[i] ? hook_passes(plan_.buckets[bucket]).out : 0) + passes_of(bucket).out);
    }
    launched_as_.clear();
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
  std::vector<Reduction> reductions_;
  StepProgram result_;
  std::vector<Op>& ops_ = result_.program.ops;
  std::optional<std::size_t> last_compute_;
  bool is_cut_ = false;
  std::vector<std::size_t> awaited_;
  std::optional<std::size_t> covers_awaited_;            // a collective that waited for all of them
  std::vector<std::optional<std::size_t>> launched_as_;  // by reduction: its op; none: it was waited for
  bool has_reduced_ = false;
  std::size_t turn_ = 0;
};

}  // namespace

StepProgram data_parallel_program(const LayerTrace& trace, const ReductionPlan& plan,
                                  const Overheads& overheads) {
  return Builder(trace, plan, overheads).take();
}

Seconds compute_before_last_backward(const LayerTrace& trace, const ReductionPlan& plan) {
  double steps = plan.accumulation_steps;
  return steps * trace.forward.value_or(Seconds(0)) + (steps - 1) * trace.backward();
}

}  // namespace ddpsim
