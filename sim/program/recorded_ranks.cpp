#include "sim/program/recorded_ranks.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpsim {
namespace {

// Along which ranks do different things; of one rank: all do the same.
struct StageAxis {
  int stride = 1, count = 1;
  [[nodiscard]] int position(int rank) const { return rank / stride % count; }
  // The rank of its pipeline that is first.
  [[nodiscard]] int column(int rank) const { return rank - position(rank) * stride; }
};

bool tiles(int first, int stride, int count, int world) {
  auto of_set = static_cast<std::int64_t>(stride) * count;
  return world % of_set == 0 && first % of_set < stride;
}

std::vector<int> ranks_of(const RecordedGroup& group) {
  if (!group.ranks.empty()) return group.ranks;
  std::vector<int> ranks;
  for (int i = 0; i < group.count; ++i) ranks.push_back(group.first + i * group.stride);
  return ranks;
}

bool is_message(const LaunchedCollective& one) {
  return one.operation == Operation::send_recv;
}

class JobRanks {
 public:
  explicit JobRanks(const Recordings& recordings)
      : recordings_(recordings), world_(recordings.front()->world_size) {
    check_worlds();
    axis_ = find_axis();
    find_programs();
  }

  RecordedRanks ranks() {
    result_.of_item.resize(recordings_.size());
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      add_groups(i);
      add_messages(i);
    }
    for (auto& [key, operations] : operations_)
      result_.communicators[key].operations.assign(operations.begin(), operations.end());
    number_by_program();
    return std::move(result_);
  }

 private:
  // Of two groups of a recording that are alike each is its own.
  using Key = std::tuple<std::string, int, int, std::vector<std::vector<int>>, int>;

  void check_worlds() const {
    std::map<int, std::size_t> known;
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      const auto& one = *recordings_[i];
      if (one.world_size != world_)
        throw InputError(one.world_size_place,
                         fmt::format("one of {} ranks, and rank {} was recorded as one of {}", one.world_size,
                                     recordings_.front()->rank, world_),
                         fmt::format("record the stages of one job: ddpsim record --world-size {} --ranks "
                                     "stages --out step.jsonl -- train.py",
                                     world_));
      if (!known.emplace(one.rank, i).second)
        throw InputError(one.rank_place, fmt::format("rank {} is there already", one.rank),
                         "name each recording once");
    }
  }

  struct Message {
    const Recording* recording;
    const LaunchedCollective* one;
  };
  using IsPeer = std::function<bool(int)>;
  // With a rank of which that is so.
  [[nodiscard]] std::optional<Message> message_with(const IsPeer& is_such) const {
    for (const auto& recording : recordings_)
      for (const auto& item : recording->items)
        if (const auto* one = std::get_if<LaunchedCollective>(&item);
            one && is_message(*one) && communicates(*recording, *one) && is_such(one->peer))
          return Message{recording.get(), one};
    return std::nullopt;
  }

  // Of a group that is an axis of the job, else of the ranks that were recorded.
  [[nodiscard]] StageAxis find_axis() const {
    auto many = static_cast<int>(recordings_.size());
    if (many == world_) return {1, world_};
    auto message = message_with([](int) { return true; });
    if (!message) {
      if (many == 1) return {};
      throw InputError(recordings_[1]->rank_place,
                       fmt::format("ranks {} and {} send each other nothing: whether others do as the one "
                                   "does or the other is not in the recordings",
                                   recordings_[0]->rank, recordings_[1]->rank),
                       "name one recording, or one of every rank");
    }
    const auto& group = message->recording->groups[message->one->group];
    if (group.count < world_ && group.ranks.empty() && tiles(group.first, group.stride, group.count, world_))
      return {group.stride, group.count};
    std::set<int> ranks;
    for (const auto& one : recordings_) ranks.insert(one->rank);
    if (many > 1) {
      StageAxis axis{*std::next(ranks.begin()) - *ranks.begin(), many};
      bool is_even = *ranks.rbegin() == *ranks.begin() + axis.stride * (many - 1);
      if (is_even && tiles(*ranks.begin(), axis.stride, many, world_)) return axis;
    }
    if (auto open = message_with([&](int peer) { return !ranks.contains(peer); }))
      refuse_missing(*open, open->one->peer);
    throw InputError(
        message->one->place,
        fmt::format("its group '{}' is all ranks, and the recorded ones ({}) are not at equal distances, "
                    "which would say whose step the others have",
                    group.name, fmt::join(ranks, ", ")),
        "send within the pipeline's own group, or record every rank (--ranks 0,1,...)");
  }

  [[noreturn]] void refuse_missing(const Message& message, int missing) const {
    std::set<int> wanted{missing};
    for (const auto& one : recordings_) wanted.insert(one->rank);
    throw InputError(
        message.one->place,
        fmt::format("rank {} {} rank {}, and what rank {} does is in no recording", message.recording->rank,
                    message.one->is_send ? "sends to" : "receives from", message.one->peer, missing),
        fmt::format("record a rank of each stage (ddpsim record --world-size {} --ranks {} --out step.jsonl "
                    "-- train.py; --ranks stages finds them) and name all: workload: {{recording: [FILE, "
                    "FILE]}}",
                    world_, fmt::join(wanted, ",")));
  }

  [[noreturn]] void refuse_missing(int position) const {
    auto message = message_with([&](int peer) { return axis_.position(peer) == position; });
    if (message) refuse_missing(*message, message->one->peer);
    const auto& first = *recordings_.front();
    auto rank = axis_.column(first.rank) + position * axis_.stride;
    throw InputError(first.rank_place, fmt::format("what rank {} does is in no recording", rank),
                     "record a rank of each stage: --ranks stages finds them");
  }

  void find_programs() {
    if (axis_.count == 1) return;
    std::vector<std::optional<std::size_t>> at(static_cast<std::size_t>(axis_.count));
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      const auto& one = *recordings_[i];
      auto& place = at[static_cast<std::size_t>(axis_.position(one.rank))];
      if (place)
        throw InputError(one.rank_place,
                         fmt::format("rank {} does what rank {} does, in another copy of the pipeline",
                                     one.rank, recordings_[*place]->rank),
                         "keep one of the two");
      place = i;
    }
    for (int position = 0; position < axis_.count; ++position)
      if (!at[static_cast<std::size_t>(position)]) refuse_missing(position);
    for (int rank = 0; rank < world_; ++rank)
      result_.program_of_rank.push_back(*at[static_cast<std::size_t>(axis_.position(rank))]);
  }

  // The same places of every pipeline.
  [[nodiscard]] std::vector<std::vector<int>> in_each_column(const std::vector<int>& ranks) const {
    std::vector<std::vector<int>> groups;
    for (int column = 0; column < world_; ++column) {
      if (axis_.position(column) != 0) continue;
      auto& group = groups.emplace_back();
      for (int rank : ranks) group.push_back(column + axis_.position(rank) * axis_.stride);
    }
    return groups;
  }

  [[nodiscard]] RecordedCommunicator communicator_of(const Recording& recording,
                                                     const LaunchedCollective& one) const {
    const auto& group = recording.groups[one.group];
    auto name = group.name.empty() ? fmt::format("group {}", one.group) : group.name;
    if (group.count == world_) return {"data", {}, world_, 1, {}};
    auto ranks = ranks_of(group);
    if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size() ||
        std::ranges::count(ranks, recording.rank) == 0)
      throw InputError(one.place,
                       fmt::format("its group '{}' is not of several ranks with rank {} among them",
                                   group.name, recording.rank),
                       "record it again: ddpsim record --world-size N -- train.py");
    auto column = axis_.column(recording.rank);
    bool is_in_column =
        axis_.count > 1 && std::ranges::all_of(ranks, [&](int rank) { return axis_.column(rank) == column; });
    if (is_in_column && group.count == axis_.count) return {name, {}, axis_.count, axis_.stride, {}};
    if (is_in_column) return {name, {}, 0, 1, in_each_column(ranks)};
    if (!group.ranks.empty() || !tiles(group.first, group.stride, group.count, world_))
      throw InputError(one.place,
                       fmt::format("its group '{}' is not one of sets of {} ranks that tile the job",
                                   group.name, group.count),
                       "groups along the axes of a device mesh are simulated, and any group where every rank "
                       "is recorded (--ranks 0,1,...)");
    return {name, {}, group.count, group.stride, {}};
  }

  std::size_t number_of(RecordedCommunicator one, int copy) {
    auto [known, is_new] =
        known_.try_emplace(Key{one.name, one.size, one.stride, one.groups, copy}, known_.size());
    if (is_new) result_.communicators.push_back(std::move(one));
    return known->second;
  }

  void add_groups(std::size_t i) {
    const auto& recording = *recordings_[i];
    std::map<std::size_t, std::size_t> of_group;
    std::map<std::size_t, int> copies;  // by communicator of the first of them
    for (std::size_t group = 0; group < recording.groups.size(); ++group)
      for (std::size_t item = 0; item < recording.items.size(); ++item) {
        const auto* one = std::get_if<LaunchedCollective>(&recording.items[item]);
        if (!one || one->group != group || is_message(*one) || !communicates(recording, *one)) continue;
        if (!of_group.contains(group)) {
          auto communicator = communicator_of(recording, *one);
          auto first = number_of(communicator, 0);
          auto copy = copies[first]++;
          of_group[group] = copy == 0 ? first : number_of(std::move(communicator), copy);
        }
        put(i, item, of_group[group], operation_of(*one));
      }
  }

  // Of a group of one pipeline, so that it is the same of another; else whose ranks they are.
  [[nodiscard]] std::vector<int> positions_of(const RecordedGroup& group) const {
    if (group.count == world_) return {};
    auto ranks = ranks_of(group);
    auto is_in_column = [&](int rank) { return axis_.column(rank) == axis_.column(ranks.front()); };
    if (std::ranges::all_of(ranks, is_in_column))
      for (auto& rank : ranks) rank = axis_.position(rank);
    return ranks;
  }

  void add_messages(std::size_t i) {
    const auto& recording = *recordings_[i];
    for (std::size_t item = 0; item < recording.items.size(); ++item) {
      const auto* one = std::get_if<LaunchedCollective>(&recording.items[item]);
      if (!one || !is_message(*one) || !communicates(recording, *one)) continue;
      if (axis_.column(one->peer) != axis_.column(recording.rank))
        throw InputError(
            one->place,
            fmt::format("ranks {} and {} are at one place of two pipelines, and exchange something",
                        recording.rank, one->peer),
            "messages between stages are simulated, and any where every rank is recorded "
            "(--ranks 0,1,...)");
      const auto& group = recording.groups[one->group];
      bool has_name = !group.name.empty() && group.name != "world";
      auto [from, to] =
          one->is_send ? std::pair(recording.rank, one->peer) : std::pair(one->peer, recording.rank);
      auto place = groups_.try_emplace(positions_of(group), static_cast<int>(groups_.size())).first;
      put(i, item,
          number_of({has_name ? group.name : "pipeline", {}, 0, 1, in_each_column({from, to})},
                    -1 - place->second),
          Operation::send_recv);
    }
  }

  void put(std::size_t recording, std::size_t item, std::size_t communicator, Operation operation) {
    result_.of_item[recording][item] = communicator;
    operations_[communicator].insert(operation);
  }

  [[nodiscard]] bool is_in(std::size_t program, const RecordedCommunicator& one) const {
    if (one.size > 0) return true;
    return std::ranges::any_of(one.groups, [&](const auto& group) {
      return std::ranges::any_of(group, [&](int rank) {
        return result_.program_of_rank[static_cast<std::size_t>(rank)] == program;
      });
    });
  }

  // Each program has those that its ranks are in, in their order.
  void number_by_program() {
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      auto& own = result_.of_program.emplace_back();
      for (std::size_t c = 0; c < result_.communicators.size(); ++c)
        if (is_in(i, result_.communicators[c])) own.push_back(c);
      if (own.empty() && !result_.communicators.empty())
        throw InputError(recordings_[i]->rank_place,
                         fmt::format("rank {} communicates with nobody, and others do", recordings_[i]->rank),
                         "is it a step of training?");
      for (auto& [item, communicator] : result_.of_item[i])
        communicator = static_cast<std::size_t>(std::ranges::find(own, communicator) - own.begin());
    }
  }

  const Recordings& recordings_;
  int world_;
  StageAxis axis_;
  RecordedRanks result_;
  std::map<Key, std::size_t> known_;
  std::map<std::vector<int>, int> groups_;                 // that messages go over
  std::map<std::size_t, std::set<Operation>> operations_;  // all-reduces first
};

}  // namespace

bool communicates(const Recording& recording, const LaunchedCollective& one) {
  return !one.is_of_cpu && recording.groups[one.group].count > 1 && (!one.operation || one.bytes > Bytes());
}

Operation operation_of(const LaunchedCollective& one) {
  return one.operation.value_or(Operation::all_reduce);
}

RecordedRanks recorded_ranks(const Recordings& recordings) {
  return JobRanks(recordings).ranks();
}

}  // namespace ddpsim
