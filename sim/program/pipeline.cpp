#include "sim/program/pipeline.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

using Kind = PipelineChannel::Kind;

constexpr Bytes kNorm{4};  // what all ranks add up to clip gradients

bool is_backward(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::input_gradient;
}

// With it the gradients of the chunk's weights are whole, once it is the last of its kind.
bool has_weights(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::weight_gradient;
}

// What a pass needs from another rank, or gives to one; none: it is there, or nobody wants it.
struct Message {
  PipelineChannel channel;
  bool is_send;
};

class Messages {
 public:
  explicit Messages(const PipelineShape& shape) : shape_(shape) {}

  [[nodiscard]] std::vector<Message> received(int rank, const PipelineTask& task) const {
    std::vector<Message> all;
    each(task, [&](const PipelinePass& pass) {
      int stage = shape_.stage_of(rank, pass.chunk);
      if (pass.kind == PassKind::forward && stage > 0)
        add(all, shape_.rank_of(stage - 1, pass.chunk), rank, pass, false);
      if (is_backward(pass.kind) && stage + 1 < shape_.stages())
        add(all, shape_.rank_of(stage + 1, pass.chunk), rank, pass, false);
    });
    return all;
  }

  [[nodiscard]] std::vector<Message> sent(int rank, const PipelineTask& task) const {
    std::vector<Message> all;
    each(task, [&](const PipelinePass& pass) {
      int stage = shape_.stage_of(rank, pass.chunk);
      if (pass.kind == PassKind::forward && stage + 1 < shape_.stages())
        add(all, rank, shape_.rank_of(stage + 1, pass.chunk), pass, true);
      if (is_backward(pass.kind) && stage > 0)
        add(all, rank, shape_.rank_of(stage - 1, pass.chunk), pass, true);
    });
    return all;
  }

 private:
  template <class Use>
  static void each(const PipelineTask& task, Use use) {
    use(task.pass);
    if (task.beside) use(*task.beside);
  }
  void add(std::vector<Message>& all, int from, int to, const PipelinePass& pass, bool is_send) const {
    if (from == to) return;
    auto kind = pass.kind == PassKind::forward ? PassKind::forward : PassKind::backward;
    all.push_back({{Kind::messages, from, to, kind, shape_.is_dual() ? pass.chunk : 0}, is_send});
  }

  const PipelineShape& shape_;
};

// The step of one rank of the pipeline.
class RankBuilder {
 public:
  RankBuilder(const PipelinePlan& plan, int rank, const std::vector<PipelineTask>& order,
              const std::vector<PipelineChannel>& channels, const Overheads& overheads)
      : plan_(plan),
        rank_(rank),
        order_(order),
        messages_(plan.shape),
        channels_(of_rank(channels, rank, plan.shape.ranks)),
        builder_(0, overheads, channels_.size()) {
    for (int chunk = 0; chunk < plan.shape.chunks; ++chunk) {
      gathered_.emplace_back();
      last_of_chunk_.push_back(last_weights(chunk));
    }
  }

  StepProgram build() {
    if (plan_.gathers && plan_.overlaps_gather) gather({});
    if (plan_.messages == MessageOverlap::overlapped)
      overlapped();
    else
      blocking();
    if (!plan_.overlaps_reduction)
      for (int chunk = plan_.shape.chunks; chunk-- > 0;)
        for (const auto& part : reduced(chunk)) reduce(part);
    finish();
    return builder_.take();
  }

 private:
  static std::vector<PipelineChannel> of_rank(const std::vector<PipelineChannel>& channels, int rank,
                                              int ranks) {
    std::vector<PipelineChannel> mine;
    for (auto channel : channels_of_rank(channels, rank, ranks)) mine.push_back(channels[channel]);
    return mine;
  }
  [[nodiscard]] const std::vector<ReducedPart>& reduced(int chunk) const {
    return plan_.reduced[static_cast<std::size_t>(rank_)][static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] std::size_t communicator(const PipelineChannel& channel) const {
    auto found = std::find(channels_.begin(), channels_.end(), channel);
    DDPSIM_CHECK(found != channels_.end(), "a rank's messages have a channel");
    return static_cast<std::size_t>(found - channels_.begin());
  }
  // Of a kind there is one of.
  [[nodiscard]] std::size_t communicator(Kind kind) const {
    auto found = std::find_if(channels_.begin(), channels_.end(),
                              [kind](const PipelineChannel& channel) { return channel.kind == kind; });
    return static_cast<std::size_t>(found - channels_.begin());
  }

  // The task in which the gradients of a chunk's weights are added to for the last time.
  [[nodiscard]] std::size_t last_weights(int chunk) const {
    for (auto i = order_.size(); i-- > 0;) {
      const auto& [pass, beside] = order_[i];
      if ((has_weights(pass.kind) && pass.chunk == chunk) ||
          (beside && has_weights(beside->kind) && beside->chunk == chunk))
        return i;
    }
    DDPSIM_CHECK(false, "every chunk has gradients");
    return 0;
  }

  std::size_t post(const Message& message, std::vector<std::size_t> after) {
    auto index = static_cast<std::size_t>(rank_);
    return builder_.collective(communicator(message.channel), Activity::message, Operation::send_recv, index,
                               plan_.message, std::move(after));
  }
  // All passes, and where messages block the last of those: Megatron's wait() before it goes on
  // (p2p_communication.py, _communicate).
  [[nodiscard]] std::vector<std::size_t> behind() const {
    auto all = now();
    all.insert(all.end(), call_.begin(), call_.end());
    return all;
  }
  [[nodiscard]] std::vector<std::size_t> now() const {
    if (const auto& last = builder_.last_compute()) return {*last};
    return {};
  }

  void overlapped() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const auto& message : messages_.received(rank_, order_[i])) builder_.wait(post(message, {}));
      compute(i);
      for (const auto& message : messages_.sent(rank_, order_[i])) post(message, now());
    }
  }

  // Tasks between which nothing is exchanged, and the calls between them.
  void blocking() {
    auto units = units_of();
    exchange({}, inputs(units.front()));
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (auto i : units[u]) compute(i);
      auto outputs = outputs_of(units[u]);
      auto next = u + 1 < units.size() ? inputs(units[u + 1]) : std::vector<Message>();
      // A forward pass' output goes with the next backward pass' input in one call, and the other way round.
      bool is_one_call =
          plan_.messages == MessageOverlap::fused ||
          (u + 1 < units.size() && is_forward(units[u].back()) != is_forward(units[u + 1].front()));
      if (is_one_call) {
        exchange(outputs, next);
      } else {
        exchange(outputs, {});
        exchange({}, next);
      }
    }
  }

  [[nodiscard]] bool is_forward(std::size_t task) const {
    return order_[task].pass.kind == PassKind::forward;
  }

  // One task each; fused: a forward and the backward pass after it, where they alternate.
  [[nodiscard]] std::vector<std::vector<std::size_t>> units_of() const {
    std::vector<std::vector<std::size_t>> units;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      bool starts_pair = plan_.messages == MessageOverlap::fused && i + 1 < order_.size() && is_forward(i) &&
                         !is_forward(i + 1);
      units.push_back({i});
      if (starts_pair) units.back().push_back(++i);
    }
    return units;
  }
  [[nodiscard]] std::vector<Message> inputs(const std::vector<std::size_t>& unit) const {
    std::vector<Message> all;
    for (auto i : unit)
      for (const auto& message : messages_.received(rank_, order_[i])) all.push_back(message);
    return all;
  }
  [[nodiscard]] std::vector<Message> outputs_of(const std::vector<std::size_t>& unit) const {
    std::vector<Message> all;
    for (auto i : unit)
      for (const auto& message : messages_.sent(rank_, order_[i])) all.push_back(message);
    return all;
  }
  // Posted at once; the next pass waits for all of them, and so does the next call.
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) {
    auto after = now();
    after.insert(after.end(), call_.begin(), call_.end());
    std::vector<std::size_t> call;
    for (const auto* messages : {&sent, &received})
      for (const auto& message : *messages) call.push_back(post(message, after));
    if (call.empty()) return;
    for (auto op : call) builder_.wait(op);
    call_ = std::move(call);
  }

  void compute(std::size_t task) {
    const auto& [pass, beside] = order_[task];
    compute(task, pass);
    if (beside) compute(task, *beside);
  }

  void compute(std::size_t task, const PipelinePass& pass) {
    const auto& times = plan_.times[static_cast<std::size_t>(rank_)][static_cast<std::size_t>(pass.chunk)];
    auto index = static_cast<std::size_t>(pass.micro_batch);
    switch (pass.kind) {
      case PassKind::forward:
        return forward(pass, times.forward);
      case PassKind::input_gradient:
        builder_.compute(Activity::backward, index, times.recompute + times.input_gradient);
        return;
      case PassKind::weight_gradient:
        return weights(task, pass, times.weight_gradient);
      case PassKind::backward:
        return weights(task, pass, times.recompute + times.input_gradient + times.weight_gradient);
    }
  }

  // The first of a chunk waits for what is gathered, all of it or part by part in the reverse of `reduced`.
  void forward(const PipelinePass& pass, Seconds duration) {
    auto index = static_cast<std::size_t>(pass.micro_batch);
    auto gathered = std::exchange(gathered_[static_cast<std::size_t>(pass.chunk)], {});
    auto wait = [&](std::optional<std::size_t> op) {
      if (op) builder_.wait(*op);
    };
    if (plan_.gathers_in_turn && !gathered.empty()) {
      const auto& parts = reduced(pass.chunk);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        auto part = parts.size() - 1 - i;
        wait(gathered[i]);
        double share = parts[part].ready - (part > 0 ? parts[part - 1].ready : 0);
        builder_.compute(Activity::forward, index, share * duration);
      }
      return;
    }
    for (auto op : gathered) wait(op);
    builder_.compute(Activity::forward, index, duration);
  }

  // A pass that may be the last to add to the weights' gradients, which are reduced as they are ready.
  void weights(std::size_t task, const PipelinePass& pass, Seconds duration) {
    auto index = static_cast<std::size_t>(pass.micro_batch);
    bool is_last = task == last_of_chunk_[static_cast<std::size_t>(pass.chunk)];
    if (is_last && pass.chunk == 0) builder_.start_last_backward();
    if (!is_last || !plan_.overlaps_reduction || !plan_.reduces()) {
      builder_.compute(Activity::backward, index, duration);
      return;
    }
    double done = 0;
    for (const auto& part : reduced(pass.chunk)) {
      builder_.compute(Activity::backward, index, (part.ready - done) * duration);
      done = part.ready;
      reduce(part);
    }
    if (done < 1) builder_.compute(Activity::backward, index, (1 - done) * duration);
  }

  [[nodiscard]] std::size_t communicator(const ReducedPart& part) const {
    return communicator(part.of_experts ? Kind::experts : Kind::data);
  }
  void reduce(const ReducedPart& part) {
    if (!plan_.is_reduced(part)) return;
    auto activity =
        plan_.reduction == Operation::reduce_scatter ? Activity::reduce_scatter : Activity::all_reduce;
    auto after = plan_.overlaps_reduction ? now() : behind();
    auto index = reductions_.size();
    int ranks = plan_.ranks_of(part);
    if (ranks > 1)
      after = {
          builder_.collective(communicator(part), activity, plan_.reduction, index, part.gradients, after)};
    // HSDP: a rank's shard, with those that have the same one.
    if (plan_.replicas > 1)
      after = {builder_.collective(communicator(Kind::replicas), Activity::all_reduce, Operation::all_reduce,
                                   index, part.gradients / ranks, after)};
    reductions_.insert(reductions_.end(), after.begin(), after.end());
  }

  // Of all chunks; forward passes wait for their own.
  void gather(const std::vector<std::size_t>& after) {
    std::size_t number = 0;
    for (int chunk = 0; chunk < plan_.shape.chunks; ++chunk)
      for (auto part = reduced(chunk).rbegin(); part != reduced(chunk).rend(); ++part)
        gathered_[static_cast<std::size_t>(chunk)].push_back(
            plan_.ranks_of(*part) > 1
                ? std::optional(builder_.collective(communicator(*part), Activity::all_gather,
                                                    Operation::all_gather, number++, part->parameters, after))
                : std::nullopt);
  }

  // What the ends share is added up, all ranks meet, and step.
  void finish() {
    auto after = reductions_;
    for (auto op : behind()) after.push_back(op);
    bool is_end = rank_ == 0 || rank_ == plan_.shape.ranks - 1;
    if (plan_.has_tied() && is_end)
      after = {builder_.collective(communicator(Kind::ends), Activity::all_reduce, Operation::all_reduce,
                                   reductions_.size(), plan_.tied, after)};
    if (plan_.meets)
      after = {builder_.collective(communicator(Kind::all), Activity::all_reduce, Operation::all_reduce,
                                   reductions_.size() + 1, kNorm, after)};
    for (auto op : after) builder_.wait(op);
    builder_.compute(Activity::optimizer, 0, plan_.optimizer[static_cast<std::size_t>(rank_)]);
    if (!plan_.gathers || plan_.overlaps_gather) return;
    gather(now());
    bool has_gathered = false;
    for (auto& of_chunk : gathered_)
      for (auto op : of_chunk)
        if (op) builder_.wait(*op), has_gathered = true;
    if (has_gathered) builder_.compute(Activity::optimizer, 0, {});
  }

  const PipelinePlan& plan_;
  int rank_;
  const std::vector<PipelineTask>& order_;
  Messages messages_;
  std::vector<PipelineChannel> channels_;  // by the program's communicator
  StepBuilder builder_;
  std::vector<std::size_t> last_of_chunk_;  // tasks
  std::vector<std::size_t> call_;           // the last one's ops
  std::vector<std::size_t> reductions_;     // ops
  // By chunk, that its first forward pass waits for: a part each; none: all ranks have it.
  std::vector<std::vector<std::optional<std::size_t>>> gathered_;
};

}  // namespace

std::vector<PipelineChannel> pipeline_channels(const PipelinePlan& plan) {
  std::vector<PipelineChannel> channels;
  const auto& shape = plan.shape;
  auto add = [&](const PipelineChannel& channel) {
    if (std::find(channels.begin(), channels.end(), channel) == channels.end()) channels.push_back(channel);
  };
  Messages messages(shape);
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      for (auto kind : {PassKind::forward, PassKind::backward})
        for (const auto& message : messages.sent(rank, {{kind, chunk, 0}})) add(message.channel);
  if (plan.has_data_axis()) add({.kind = Kind::data});
  if (plan.has_expert_axis()) add({.kind = Kind::experts});
  if (plan.replicas > 1) add({.kind = Kind::replicas});
  if (plan.has_tied()) add({.kind = Kind::ends});
  if (plan.meets) add({.kind = Kind::all});
  return channels;
}

Bytes largest_message(const PipelinePlan& plan, const PipelineChannel& channel) {
  switch (channel.kind) {
    case Kind::messages:
      return plan.message;
    case Kind::ends:
      return plan.tied;
    case Kind::all:
      return kNorm;
    case Kind::data:
    case Kind::experts:
    case Kind::replicas:
      break;
  }
  Bytes largest;
  for (const auto& chunks : plan.reduced)
    for (const auto& parts : chunks)
      for (const auto& part : parts)
        if (channel.kind == Kind::replicas)
          largest = std::max(largest, part.gradients / plan.ranks_of(part));
        else if (part.of_experts == (channel.kind == Kind::experts))
          largest = std::max({largest, part.gradients, part.parameters});
  return largest;
}

std::vector<std::size_t> channels_of_rank(const std::vector<PipelineChannel>& channels, int rank, int ranks) {
  std::vector<std::size_t> mine;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto& channel = channels[c];
    bool is_end = rank == 0 || rank == ranks - 1;
    bool is_mine = channel.kind == Kind::messages ? channel.from == rank || channel.to == rank
                                                  : channel.kind != Kind::ends || is_end;
    if (is_mine) mine.push_back(c);
  }
  return mine;
}

std::vector<StepProgram> pipeline_programs(const PipelinePlan& plan, const Overheads& overheads) {
  auto orders = pipeline_order(plan.shape);
  auto channels = pipeline_channels(plan);
  std::vector<StepProgram> programs;
  for (int rank = 0; rank < plan.shape.ranks; ++rank)
    programs.push_back(
        RankBuilder(plan, rank, orders[static_cast<std::size_t>(rank)], channels, overheads).build());
  return programs;
}

}  // namespace ddpsim
