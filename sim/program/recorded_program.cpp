#include "sim/program/recorded_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace ddpsim {
namespace {

constexpr Bytes kBarrier(4);  // NCCL's is an all-reduce of one element

bool communicates(const Recording& recording, const LaunchedCollective& one) {
  return !one.is_of_cpu && recording.groups[one.group].count > 1 && (!one.operation || one.bytes > Bytes());
}
Operation operation_of(const LaunchedCollective& one) {
  return one.operation.value_or(Operation::all_reduce);
}

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
  explicit Builder(const RecordedStep& step) : step_(step), recording_(*step.recording) {
    auto groups = recorded_groups(recording_);
    for (std::size_t i = 0; i < groups.size(); ++i) communicators_[groups[i]] = i;
    program_.communicators = std::max<std::size_t>(1, groups.size());
    find_lanes();
    find_ends();
  }

  Program build() {
    places_.resize(recording_.items.size());
    for (number_ = 0; number_ < recording_.items.size(); ++number_)
      std::visit([this](const auto& item) { add(item); }, recording_.items[number_]);
    end_with_all(program_);
    return std::move(program_);
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
    program_.ops.push_back(std::move(next));
  }

  void add(const LaunchedCollective& one) {
    auto on = stopped_;
    for (auto item : one.on)
      for (auto op : places_[item])
        if (std::ranges::count(on, op) == 0) on.push_back(op);
    if (!communicates(recording_, one)) {
      places_[number_] = std::move(on);
      return;
    }
    Op next;
    next.kind = Op::Kind::collective;
    next.operation = operation_of(one);
    next.activity = activity_of(next.operation);
    next.index = counts_[next.activity]++;
    next.communicator = communicators_.at(one.group);
    next.bytes = one.operation ? one.bytes : kBarrier;
    next.after = needed(std::move(on));
    places_[number_] = {program_.ops.size()};
    program_.ops.push_back(std::move(next));
  }

  void add(const RecordedWait& wait) {
    auto& stream = streams_[wait.stream];
    for (auto item : wait.on) await(stream, places_[item]);
    places_[number_] = place_of(stream);
  }

  // Nothing is launched before, on any stream; what it waited for earlier has ended.
  void add(const RecordedStop& stop) {
    stopped_.clear();
    for (auto item : stop.on) stopped_.insert(stopped_.end(), places_[item].begin(), places_[item].end());
    for (const auto& [stream, lane] : lanes_) await(streams_[stream], stopped_);
  }

  void add(const RecordedAllocation&) {}
  void add(const RecordedFree&) {}
  void add(const RecordedGradient&) {}

  const RecordedStep& step_;
  const Recording& recording_;
  Program program_;
  std::size_t number_ = 0;
  std::map<std::size_t, std::size_t> communicators_;  // by group
  std::map<std::size_t, std::size_t> lanes_;          // by stream
  std::map<std::size_t, Stream> streams_;
  std::set<std::size_t> ends_;
  Ops stopped_;              // what the host waited for last
  std::vector<Ops> places_;  // by item: the ops that have ended when it has
  std::map<Activity, std::size_t> counts_;
};

}  // namespace

std::vector<std::size_t> recorded_groups(const Recording& recording) {
  std::set<std::size_t> groups;
  for (const auto& item : recording.items)
    if (const auto* one = std::get_if<LaunchedCollective>(&item); one && communicates(recording, *one))
      groups.insert(one->group);
  return {groups.begin(), groups.end()};
}

std::vector<std::vector<Operation>> recorded_operations(const Recording& recording) {
  auto groups = recorded_groups(recording);
  std::vector<std::set<Operation>> all(groups.size());
  for (const auto& item : recording.items)
    if (const auto* one = std::get_if<LaunchedCollective>(&item); one && communicates(recording, *one))
      all[static_cast<std::size_t>(std::ranges::find(groups, one->group) - groups.begin())].insert(
          operation_of(*one));
  std::vector<std::vector<Operation>> operations;
  for (const auto& one : all) operations.emplace_back(one.begin(), one.end());
  return operations;
}

Program recorded_program(const RecordedStep& step) {
  return Builder(step).build();
}

}  // namespace ddpsim
