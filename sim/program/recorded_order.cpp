#include "sim/program/recorded_order.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

// All ranks of a recording do as it does: one stands for them.
struct Runner {
  const RecordedProgram* of = nullptr;
  std::vector<std::vector<std::size_t>> collectives;  // ops, by the program's communicator
  std::vector<std::size_t> launched;                  // of those how many
  std::vector<std::size_t> heads;                     // by lane: the op that is next
  std::vector<bool> has_ended;
  std::size_t first = 0;  // not ended

  explicit Runner(const RecordedProgram& program)
      : of(&program),
        collectives(program.program.communicators),
        launched(program.program.communicators),
        heads(lanes_of(program.program)),
        has_ended(program.program.ops.size()) {
    for (std::size_t i = 0; i < ops().size(); ++i)
      if (ops()[i].kind == Op::Kind::collective) collectives[ops()[i].communicator].push_back(i);
  }
  [[nodiscard]] const std::vector<Op>& ops() const { return of->program.ops; }

  // Computes and launches what it can.
  bool go_on() {
    bool has_moved = false;
    while (first < ops().size() && has_ended[first]) ++first;
    for (std::size_t i = first; i < ops().size(); ++i) {
      const auto& op = ops()[i];
      bool may = std::ranges::all_of(op.after, [this](std::size_t one) { return has_ended[one]; });
      if (has_ended[i] || !may) continue;
      if (op.kind == Op::Kind::collective) {
        auto& many = launched[op.communicator];
        if (many == collectives[op.communicator].size() || collectives[op.communicator][many] != i) continue;
        ++many;
      } else {
        if (!is_next(i)) continue;
        has_ended[i] = true;
      }
      has_moved = true;
    }
    return has_moved;
  }

 private:
  // Of its lane.
  bool is_next(std::size_t op) {
    auto lane = ops()[op].lane;
    auto& head = heads[lane];
    while (head < ops().size() &&
           (ops()[head].kind == Op::Kind::collective || ops()[head].lane != lane || has_ended[head]))
      ++head;
    return head == op;
  }
};

class Order {
 public:
  Order(const Recordings& recordings, const RecordedRanks& ranks, std::span<const RecordedProgram> programs)
      : recordings_(recordings), ranks_(ranks) {
    for (const auto& program : programs) runners_.emplace_back(program);
    for (std::size_t c = 0; c < ranks.communicators.size(); ++c)
      for (const auto& joined : joined_by(ranks.communicators[c])) {
        auto& join = joins_.emplace_back();
        for (auto program : joined) join.members.push_back({program, own_of(program, c)});
      }
  }

  void check() {
    for (const auto& join : joins_) check_same(join);
    bool has_moved = true;
    while (has_moved) {
      has_moved = false;
      for (auto& runner : runners_) has_moved |= runner.go_on();
      for (auto& join : joins_) has_moved |= end_launched(join);
      for (std::size_t p = 0; p < runners_.size(); ++p) mark_ended(p);
    }
    for (std::size_t p = 0; p < runners_.size(); ++p) check_over(p);
  }

 private:
  struct Member {
    std::size_t program, own;
  };
  // Ranks of a communicator, by what they do.
  struct Join {
    std::vector<Member> members;
    std::size_t ended = 0;
  };

  [[nodiscard]] std::size_t own_of(std::size_t program, std::size_t communicator) const {
    const auto& own = ranks_.of_program[program];
    return static_cast<std::size_t>(std::ranges::find(own, communicator) - own.begin());
  }
  [[nodiscard]] std::size_t program_of(int rank) const {
    return ddpsim::program_of(ranks_.program_of_rank, static_cast<std::size_t>(rank));
  }

  // Of each of its groups which programs its ranks have, each once.
  [[nodiscard]] std::set<std::vector<std::size_t>> joined_by(const RecordedCommunicator& one) const {
    std::set<std::vector<std::size_t>> all;
    auto add = [&](std::set<std::size_t> programs) { all.emplace(programs.begin(), programs.end()); };
    if (one.size == 0) {
      for (const auto& group : one.groups) {
        std::set<std::size_t> programs;
        for (int rank : group) programs.insert(program_of(rank));
        add(std::move(programs));
      }
      return all;
    }
    for (int first = 0; first < recordings_.front()->world_size; ++first) {
      if (first / one.stride % one.size != 0) continue;
      std::set<std::size_t> programs;
      for (int i = 0; i < one.size; ++i) programs.insert(program_of(first + i * one.stride));
      add(std::move(programs));
    }
    return all;
  }

  [[nodiscard]] const Recording& recording(const Member& member) const {
    return *recordings_[member.program];
  }
  [[nodiscard]] const std::vector<std::size_t>& of(const Member& member) const {
    return runners_[member.program].collectives[member.own];
  }
  [[nodiscard]] const Op& op(const Member& member, std::size_t number) const {
    return runners_[member.program].ops()[of(member)[number]];
  }
  [[nodiscard]] const LaunchedCollective& item(const Member& member, std::size_t number) const {
    auto place = runners_[member.program].of->items[of(member)[number]];
    return std::get<LaunchedCollective>(recording(member).items[place]);
  }

  void check_same(const Join& join) const {
    const auto& one = join.members.front();
    for (const auto& other : join.members) {
      auto many = std::min(of(one).size(), of(other).size());
      for (std::size_t i = 0; i < many; ++i)
        if (op(one, i).operation != op(other, i).operation || op(one, i).bytes != op(other, i).bytes)
          refuse(other, one, i);
      if (of(one).size() > many) refuse(one, other, many);
      if (of(other).size() > many) refuse(other, one, many);
    }
  }

  [[nodiscard]] std::string described(const Member& member, std::size_t number) const {
    const auto& one = item(member, number);
    auto rank = recording(member).rank;
    if (one.operation == Operation::send_recv)
      return fmt::format("rank {} {} {} {} rank {}", rank, one.is_send ? "sends" : "receives",
                         format_bytes(one.bytes), one.is_send ? "to" : "from", one.peer);
    return fmt::format("rank {} launches {} of {}", rank, operation_words(operation_of(one)),
                       format_bytes(op(member, number).bytes));
  }
  [[noreturn]] void refuse(const Member& has, const Member& other, std::size_t number) const {
    bool has_other = number < of(other).size();
    throw InputError(item(has, number).place,
                     fmt::format("{} (number {} of these), and {}", described(has, number), number + 1,
                                 has_other ? described(other, number)
                                           : fmt::format("rank {} has no such", recording(other).rank)),
                     "are the recordings of one step of one script, with the same arguments?");
  }

  // Those that all its members have launched.
  bool end_launched(Join& join) {
    auto least =
        join.members.empty() ? 0 : runners_[join.members.front().program].launched[join.members.front().own];
    for (const auto& member : join.members)
      least = std::min(least, runners_[member.program].launched[member.own]);
    return std::exchange(join.ended, least) < least;
  }
  // What has ended in all groups that ranks of a program are in.
  void mark_ended(std::size_t program) {
    auto& runner = runners_[program];
    auto ended = runner.launched;
    for (const auto& join : joins_)
      for (const auto& member : join.members)
        if (member.program == program) ended[member.own] = std::min(ended[member.own], join.ended);
    for (std::size_t c = 0; c < ended.size(); ++c)
      for (std::size_t i = 0; i < ended[c]; ++i) runner.has_ended[runner.collectives[c][i]] = true;
  }

  void check_over(std::size_t program) const {
    const auto& runner = runners_[program];
    for (std::size_t c = 0; c < runner.collectives.size(); ++c)
      for (std::size_t i = 0; i < runner.launched[c]; ++i) {
        if (runner.has_ended[runner.collectives[c][i]]) continue;
        Member member{program, c};
        throw InputError(
            item(member, i).place,
            fmt::format("{}, and it never ends: ranks wait for ever, each for another", described(member, i)),
            item(member, i).operation == Operation::send_recv
                ? "with NCCL the script would hang here: exchange in one call, batch_isend_irecv"
                : "with NCCL the script would hang here: launch collectives in one order on all ranks");
      }
  }

  const Recordings& recordings_;
  const RecordedRanks& ranks_;
  std::vector<Runner> runners_;
  std::vector<Join> joins_;
};

}  // namespace

void check_order(const Recordings& recordings, const RecordedRanks& ranks,
                 std::span<const RecordedProgram> programs) {
  Order(recordings, ranks, programs).check();
}

}  // namespace ddpsim
