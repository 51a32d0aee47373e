#include "sim/program/pipeline.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

using Kind = PipelineChannel::Kind;

constexpr Bytes kNorm{4};  // what all ranks add up to clip gradients

bool is_forward_kind(PassKind kind) {
  return kind == PassKind::forward;
}

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
              const std::vector<PipelineChannel>& channels, const Overheads& overheads,
              const MakeAxis& make_axis)
      : plan_(plan),
        rank_(rank),
        order_(order),
        messages_(plan.shape),
        channels_(of_rank(channels, rank, plan.shape.ranks)),
        builder_(overheads, channels_.size() + plan.joined.size()) {
    // The strategy's behind all others; what one of its communicators is to the channels, link() says.
    builder_.set_first_of_strategy(channels_.size());
    for (int chunk = 0; chunk < plan.shape.chunks; ++chunk) {
      axes_.push_back(make_axis(builder_, rank, chunk));
      first_of_chunk_.push_back(task_of(chunk, is_forward_kind, false));
      last_of_chunk_.push_back(task_of(chunk, has_weights, true));
    }
  }

  StepProgram build() {
    for (auto& axis : axes_) axis->begin();
    if (plan_.messages == MessageOverlap::overlapped)
      overlapped();
    else
      blocking();
    finish();
    return linked(builder_.take());
  }

 private:
  static std::vector<PipelineChannel> of_rank(const std::vector<PipelineChannel>& channels, int rank,
                                              int ranks) {
    std::vector<PipelineChannel> mine;
    for (auto channel : channels_of_rank(channels, rank, ranks)) mine.push_back(channels[channel]);
    return mine;
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
  // With the strategy's communicators where the channels have them, and without those of one rank.
  [[nodiscard]] StepProgram linked(StepProgram step) const {
    std::vector<std::size_t> place(plan_.joined.size());
    std::vector<bool> is_alone(channels_.size() + plan_.joined.size());
    for (std::size_t i = 0; i < place.size(); ++i) {
      auto found = std::find_if(channels_.begin(), channels_.end(), [i](const PipelineChannel& channel) {
        return channel.kind == Kind::strategy && channel.strategy == static_cast<int>(i);
      });
      bool is_there = found != channels_.end();
      place[i] = is_there ? static_cast<std::size_t>(found - channels_.begin()) : channels_.size() + i;
      is_alone[channels_.size() + i] = true;
    }
    for (auto& op : step.program.ops)
      if (op.kind == Op::Kind::collective && op.communicator >= channels_.size())
        op.communicator = place[op.communicator - channels_.size()];
    return without_communicators(std::move(step), is_alone);
  }

  // The first or last task with such a pass of the chunk.
  [[nodiscard]] std::size_t task_of(int chunk, bool (*is_such)(PassKind), bool is_last) const {
    auto has = [&](const PipelineTask& task) {
      return (is_such(task.pass.kind) && task.pass.chunk == chunk) ||
             (task.beside && is_such(task.beside->kind) && task.beside->chunk == chunk);
    };
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (auto at = is_last ? order_.size() - 1 - i : i; has(order_[at])) return at;
    DDPSIM_CHECK(false, "every chunk has its passes");
    return 0;
  }

  std::size_t post(const Message& message, std::vector<std::size_t> after) {
    auto index = static_cast<std::size_t>(rank_);
    return builder_.exchange(communicator(message.channel), Activity::message, Operation::send_recv, index,
                             plan_.message, std::move(after));
  }
  [[nodiscard]] std::vector<std::size_t> now() const {
    if (const auto& last = builder_.last_compute()) return {*last};
    return {};
  }

  void overlapped() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const auto& message : messages_.received(rank_, order_[i])) builder_.wait(post(message, {}));
      compute(i);
      for (const auto& message : messages_.sent(rank_, order_[i])) post(message, builder_.pending());
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
    auto chunk = static_cast<std::size_t>(pass.chunk);
    const auto& times = plan_.times[static_cast<std::size_t>(rank_)][chunk];
    Turn turn{static_cast<std::size_t>(pass.micro_batch), task == first_of_chunk_[chunk],
              task == last_of_chunk_[chunk]};
    auto inputs = times.recompute + times.input_gradient;
    switch (pass.kind) {
      case PassKind::forward:
        return axes_[chunk]->forward(turn);
      case PassKind::input_gradient:
        builder_.compute(Activity::backward, turn.micro_batch, inputs);
        return;
      case PassKind::weight_gradient:
        if (auto all = inputs + times.weight_gradient; all > Seconds())
          turn.pace = times.weight_gradient / all;
        break;
      case PassKind::backward:
        break;
    }
    if (turn.is_last && chunk == 0) builder_.start_last_backward();
    if (auto passes = passes_until_reduced(chunk); turn.is_last && passes) {
      turn.may_reduce = false;
      reduced_after_.emplace(backwards_ + *passes, chunk);
    }
    axes_[chunk]->backward(turn);
    for (auto due = reduced_after_.begin(); due != reduced_after_.end() && due->first <= backwards_;
         due = reduced_after_.erase(due))
      axes_[due->second]->reduce_now();
    ++backwards_;
  }

  // Between a chunk's last backward pass and its reductions, where all ranks start them together: rank r's
  // passes of a micro-batch come r passes before the first rank's (schedules.py,
  // grad_sync_virtual_microbatch_id, and 1F1B's enable_grad_sync). None: they start within that pass.
  [[nodiscard]] std::optional<int> passes_until_reduced(std::size_t chunk) const {
    bool is_interleaved = plan_.shape.schedule == PipelineSchedule::interleaved;
    bool is_1f1b = plan_.shape.schedule == PipelineSchedule::one_f_one_b;
    if (!axes_[chunk]->reduces_together() || !(is_interleaved || (is_1f1b && rank_ > 0))) return std::nullopt;
    return rank_;
  }

  // What the ends share is added up, all ranks meet, and step.
  void finish() {
    // Megatron's wait() for the last message comes before it goes on (p2p_communication.py, _communicate).
    if (!call_.empty()) builder_.compute(Activity::backward, 0, {});
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) (*axis)->finish();
    auto exchange = [&](Kind kind, Bytes bytes) {
      builder_.wait_only_for(builder_.exchange(communicator(kind), Activity::all_reduce,
                                               Operation::all_reduce, builder_.launched(), bytes,
                                               builder_.pending()));
    };
    bool is_end = rank_ == 0 || rank_ == plan_.shape.ranks - 1;
    if (plan_.has_tied() && is_end) exchange(Kind::ends, plan_.tied);
    if (plan_.meets) exchange(Kind::all, kNorm);
    Seconds optimizer;
    for (const auto& axis : axes_) optimizer += axis->optimizer();
    builder_.compute(Activity::optimizer, 0, optimizer);
    for (auto& axis : axes_) axis->update();
  }

  const PipelinePlan& plan_;
  int rank_;
  const std::vector<PipelineTask>& order_;
  Messages messages_;
  std::vector<PipelineChannel> channels_;  // by the program's communicator
  StepBuilder builder_;
  std::vector<std::unique_ptr<DataAxis>> axes_;              // by chunk
  std::vector<std::size_t> first_of_chunk_, last_of_chunk_;  // tasks
  std::vector<std::size_t> call_;                            // the last one's ops
  int backwards_ = 0;                                        // passes so far
  std::multimap<int, std::size_t> reduced_after_;            // so many: chunks whose reductions start then
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
  for (std::size_t i = 0; i < plan.joined.size(); ++i)
    if (plan.joined[i] > 1) add({.kind = Kind::strategy, .strategy = static_cast<int>(i)});
  if (plan.has_tied()) add({.kind = Kind::ends});
  if (plan.meets) add({.kind = Kind::all});
  return channels;
}

std::optional<Bytes> message_of(const PipelinePlan& plan, const PipelineChannel& channel) {
  switch (channel.kind) {
    case Kind::messages:
      return plan.message;
    case Kind::ends:
      return plan.tied;
    case Kind::all:
      return kNorm;
    case Kind::strategy:
      break;
  }
  return std::nullopt;
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

std::vector<StepProgram> pipeline_programs(const PipelinePlan& plan, const Overheads& overheads,
                                           const MakeAxis& make_axis) {
  auto orders = pipeline_order(plan.shape);
  auto channels = pipeline_channels(plan);
  std::vector<StepProgram> programs;
  for (int rank = 0; rank < plan.shape.ranks; ++rank)
    programs.push_back(
        RankBuilder(plan, rank, orders[static_cast<std::size_t>(rank)], channels, overheads, make_axis)
            .build());
  return programs;
}

}  // namespace ddpsim
