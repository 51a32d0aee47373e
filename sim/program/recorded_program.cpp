#include "sim/program/recorded_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace ddpsim {
namespace {

constexpr Bytes kBarrier(4);  // NCCL's is an all-reduce of one element

Activity activity_of(const RecordedOperator& op) {
  if (is_copy_in(op)) return Activity::copy_in;
  if (is_copy_out(op)) return Activity::copy_out;
  switch (op.phase) {
    case RecordedPhase::forward:
      return Activity::forward;
    case RecordedPhase::recompute:
    case RecordedPhase::backward:
      return Activity::backward;
    case RecordedPhase::optimizer:
      break;
  }
  return Activity::optimizer;
}

Activity activity_of(Operation operation) {
  switch (operation) {
    case Operation::all_gather:
      return Activity::all_gather;
    case Operation::reduce_scatter:
      return Activity::reduce_scatter;
    case Operation::broadcast:
    case Operation::scatter:
      return Activity::replicate;
    case Operation::reduce:
    case Operation::gather:
      return Activity::reduce;
    case Operation::all_to_all:
      return Activity::all_to_all;
    case Operation::send_recv:
      return Activity::message;
    case Operation::all_reduce:
      break;
  }
  return Activity::all_reduce;
}

class Builder {
 public:
  Builder(const RecordedStep& step, std::size_t communicators,
          const std::map<std::size_t, std::size_t>& communicator_of_item)
      : step_(step), recording_(*step.recording), communicator_of_item_(communicator_of_item) {
    program_.communicators = std::max<std::size_t>(1, communicators);
    find_lanes();
    find_ends();
  }

  RecordedProgram build() {
    places_.resize(recording_.items.size());
    for (number_ = 0; number_ < recording_.items.size(); ++number_)
      std::visit([this](const auto& item) { add(item); }, recording_.items[number_]);
    end_with_all(program_);
    return {std::move(program_), std::move(items_)};
  }

 private:
  using Ops = std::vector<std::size_t>;
  struct Stream {
    std::optional<std::size_t> last;  // its last op
    Ops awaited;                      // what the next one waits for besides
    bool is_open = false;             // the last op may get longer
  };

  // The default stream is the first lane, those that compute the others.
  void find_lanes() {
    lanes_[0] = 0;
    for (std::size_t i = 0; i < recording_.items.size(); ++i)
      if (const auto* op = std::get_if<RecordedOperator>(&recording_.items[i]);
          op && step_.times[i] > Seconds())
        lanes_.try_emplace(op->stream, lanes_.size());
  }

  // Operators with which an op of the program has to end: others wait for them.
  void find_ends() {
    auto take = [this](const std::vector<std::size_t>& on) { ends_.insert(on.begin(), on.end()); };
    for (const auto& item : recording_.items) {
      if (const auto* wait = std::get_if<RecordedWait>(&item)) take(wait->on);
      if (const auto* one = std::get_if<LaunchedCollective>(&item)) take(one->on);
      if (const auto* stop = std::get_if<RecordedStop>(&item)) take(stop->on);
    }
  }

  // A stream as it is now.
  Ops place_of(Stream& stream) {
    auto place = stream.awaited;
    if (stream.last) place.push_back(*stream.last);
    stream.is_open = false;
    return place;
  }
  void await(Stream& stream, const Ops& place) {
    for (auto op : place)
      if (std::ranges::count(stream.awaited, op) == 0) stream.awaited.push_back(op), stream.is_open = false;
  }

  // Without those that others of them waited for.
  [[nodiscard]] Ops needed(Ops ops) const {
    std::ranges::sort(ops);
    Ops kept;
    for (auto one : ops)
      if (std::ranges::none_of(
              ops, [&](auto other) { return std::ranges::count(program_.ops[other].after, one) > 0; }))
        kept.push_back(one);
    return kept;
  }

  void add(const RecordedOperator& op) {
    auto& stream = streams_[op.stream];
    if (auto time = step_.times[number_]; time > Seconds()) compute(op, time, stream);
    places_[number_] = stream.awaited;
    if (stream.last) places_[number_].push_back(*stream.last);
    if (ends_.contains(number_)) stream.is_open = false;
  }

  void compute(const RecordedOperator& op, Seconds time, Stream& stream) {
    auto activity = activity_of(op);
    auto lane = lanes_.at(op.stream);
    if (stream.is_open && program_.ops[*stream.last].activity == activity) {
      program_.ops[*stream.last].duration += time;
      return;
    }
    Op next;
    next.activity = activity;
    next.index = counts_[activity]++;
    next.duration = time;
    next.lane = lane;
    next.after = needed(std::exchange(stream.awaited, {}));
    std::erase_if(next.after, [&](std::size_t one) {  // they have ended anyway
      return program_.ops[one].kind == Op::Kind::compute && program_.ops[one].lane == lane;
    });
    stream.last = program_.ops.size();
    stream.is_open = true;
    push(std::move(next));
  }

  void add(const LaunchedCollective& one) {
    auto on = stopped_;
    for (auto item : one.on) add_to(on, place_of(item));
    auto communicator = communicator_of_item_.find(number_);
    if (communicator == communicator_of_item_.end()) {
      places_[number_] = std::move(on);
      return;
    }
    add_to(on, kernel_before(one));
    Op next;
    next.kind = Op::Kind::collective;
    next.operation = operation_of(one);
    next.activity = activity_of(next.operation);
    next.index = counts_[next.activity]++;
    next.communicator = communicator->second;
    next.bytes = one.operation ? one.bytes : kBarrier;
    next.after = needed(std::move(on));
    places_[number_] = {program_.ops.size()};
    kernel_of(one).push_back(program_.ops.size());
    push(std::move(next));
  }

  static void add_to(Ops& all, const Ops& more) {
    for (auto op : more)
      if (std::ranges::count(all, op) == 0) all.push_back(op);
  }

  // What has ended with an item. A batch ends as a whole.
  [[nodiscard]] Ops place_of(std::size_t item) const {
    const auto* one = std::get_if<LaunchedCollective>(&recording_.items[item]);
    if (!one || !one->batch || !communicator_of_item_.contains(item)) return places_[item];
    return batches_.at(*one->batch);
  }

  // NCCL's kernels that a message meets, each behind the one before: those of its group, and if it is alone
  // those with its peer (ProcessGroupNCCL.cpp, pointToPoint: batches take the group's communicator and
  // stream, other messages have those of their pair).
  using KernelStream = std::pair<std::size_t, int>;
  static KernelStream kernels_of(const LaunchedCollective& one) {
    bool is_alone = one.operation == Operation::send_recv && !one.batch;
    return {one.group, is_alone ? one.peer : -1};
  }
  // What the last kernel there before this one's did.
  [[nodiscard]] Ops kernel_before(const LaunchedCollective& one) {
    auto& kernels = kernels_[kernels_of(one)];
    bool is_begun = one.batch && kernels.batch == one.batch;
    if (!is_begun) kernels.before = std::exchange(kernels.last, {}), kernels.batch = one.batch;
    // Collectives of a communicator follow one another anyway.
    bool follows = one.operation != Operation::send_recv && !kernels.has_messages;
    kernels.has_messages |= one.operation == Operation::send_recv;
    return follows ? Ops() : kernels.before;
  }
  Ops& kernel_of(const LaunchedCollective& one) {
    if (one.batch) batches_[*one.batch].push_back(program_.ops.size());
    return kernels_[kernels_of(one)].last;
  }

  void push(Op op) {
    program_.ops.push_back(std::move(op));
    items_.push_back(number_);
  }

  void add(const RecordedWait& wait) {
    auto& stream = streams_[wait.stream];
    for (auto item : wait.on) await(stream, place_of(item));
    places_[number_] = place_of(stream);
  }

  // Nothing is launched before, on any stream; what it waited for earlier has ended.
  void add(const RecordedStop& stop) {
    stopped_.clear();
    for (auto item : stop.on) add_to(stopped_, place_of(item));
    for (const auto& [stream, lane] : lanes_) await(streams_[stream], stopped_);
  }

  void add(const RecordedAllocation&) {}
  void add(const RecordedFree&) {}
  void add(const RecordedGradient&) {}

  const RecordedStep& step_;
  const Recording& recording_;
  Program program_;
  std::size_t number_ = 0;
  std::vector<std::size_t> items_;  // by op
  const std::map<std::size_t, std::size_t>& communicator_of_item_;
  struct Kernels {
    Ops before, last;  // ops of the kernel before the last one, and of that
    std::optional<std::size_t> batch;
    bool has_messages = false;
  };
  std::map<KernelStream, Kernels> kernels_;
  std::map<std::size_t, Ops> batches_;
  std::map<std::size_t, std::size_t> lanes_;  // by stream
  std::map<std::size_t, Stream> streams_;
  std::set<std::size_t> ends_;
  Ops stopped_;              // what the host waited for last
  std::vector<Ops> places_;  // by item: the ops that have ended when it has
  std::map<Activity, std::size_t> counts_;
};

}  // namespace

std::vector<RecordedProgram> recorded_programs(std::span<const std::shared_ptr<const RecordedStep>> steps,
                                               const RecordedRanks& ranks) {
  std::vector<RecordedProgram> programs;
  for (std::size_t i = 0; i < steps.size(); ++i)
    programs.push_back(Builder(*steps[i], ranks.of_program[i].size(), ranks.of_item[i]).build());
  return programs;
}

}  // namespace ddpsim
