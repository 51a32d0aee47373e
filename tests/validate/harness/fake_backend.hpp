#pragma once
// A backend whose ranks are threads of the test and whose clock is virtual: compute takes what it is asked
// to, a collective what the script says, and what is reduced is really summed.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "validate/harness/collective_backend.hpp"
#include <fmt/core.h>

#include "sim/base/program_exit.hpp"

namespace ddpsim::validate::test {

// What happens in a run. `step` counts the repetitions from 0, warm-ups and checks included; `collective` the
// collectives of one.
struct Script {
  int ranks = 2;
  std::function<double(int step, Range range)> seconds = [](int, Range range) {
    return static_cast<double>(range.count);
  };
  // Faults: another range than the one asked for, other values than the right ones, a rank that keeps what it
  // has in a broadcast.
  std::function<Range(std::size_t collective, Range range)> reduced = [](std::size_t, Range asked) {
    return asked;
  };
  struct Values {
    int rank, step;
    std::size_t collective;
    std::vector<float>& values;
  };
  std::function<void(const Values& values)> values = [](const Values&) {};
  int deaf_rank = -1;
};

// Where the ranks of one run meet.
class Rendezvous {
 public:
  explicit Rendezvous(int ranks) : ranks_(ranks), values_(static_cast<std::size_t>(ranks)) {}

  // The values of all, by rank. Throws RunFailed where one has left.
  std::vector<std::vector<double>> exchange(int rank, std::vector<double> mine) {
    values_[static_cast<std::size_t>(rank)] = std::move(mine);
    meet(rank);
    auto all = values_;
    meet(rank);
    return all;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    has_left_ = true;
    changed_.notify_all();
  }

 private:
  void meet(int rank) {
    std::unique_lock lock(mutex_);
    auto meeting = meetings_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++meetings_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return meetings_ != meeting || has_left_; });
    if (meetings_ == meeting) throw RunFailed(fmt::format("rank {}: another rank has left", rank));
  }

  int ranks_, here_ = 0;
  unsigned meetings_ = 0;
  bool has_left_ = false;
  std::vector<std::vector<double>> values_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeBackend : public CollectiveBackend {
 public:
  FakeBackend(const Script& script, Rendezvous& rendezvous, int rank)
      : script_(script), rendezvous_(rendezvous), rank_(rank) {}

  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return script_.ranks; }
  [[nodiscard]] Environment environment() const override { return {{"of rank", std::to_string(rank_)}}; }
  // How many repetitions there were.
  [[nodiscard]] int steps() const { return step_ + 1; }

  void allocate(std::size_t elements) override { buffer_.assign(elements, 0); }
  void write(std::size_t first, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), slice({first, values.size()}).begin());
  }
  [[nodiscard]] std::vector<float> read(Range range) override {
    auto values = slice(range);
    return {values.begin(), values.end()};
  }
  void broadcast(Range range) override {
    auto all = rendezvous_.exchange(rank_, doubles(range));
    if (rank_ != script_.deaf_rank) std::copy(all[0].begin(), all[0].end(), slice(range).begin());
  }
  [[nodiscard]] std::vector<double> maximum(const std::vector<double>& values) override {
    auto largest = values;
    for (const auto& others : rendezvous_.exchange(rank_, values))
      for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], others[i]);
    return largest;
  }

  StepTimes perform(const Step& step, double slowdown, const WaitingFor& waiting_for) override {
    rendezvous_.exchange(rank_, {});
    ++step_;
    StepTimes times;
    std::vector<Seconds> ends;  // by op
    Seconds computed, free;
    std::size_t told = 0;
    auto tell_before = [&](std::size_t collective) {
      for (; told < collective; ++told) waiting_for(told);
    };
    for (const auto& op : step.program.ops) {
      Seconds ready;
      for (auto before : op.after) ready = std::max(ready, ends[before]);
      if (op.kind == Op::Kind::compute) {
        if (ready > computed) tell_before(times.collectives.size());
        computed = std::max(computed, ready) + slowdown * op.duration;
        ends.push_back(computed);
        if (step.before_last_backward == ends.size() - 1) times.backward_start = computed;
        continue;
      }
      auto collective = times.collectives.size();
      auto launch = collective == 0 ? ready : std::max(ready, times.collectives.back().launch);
      auto start = std::max(free, Seconds(maximum({launch.value()})[0]));
      free = start + Seconds(script_.seconds(step_, step.ranges[collective]));
      carry_out(op.operation, step.ranges[collective], collective);
      times.collectives.push_back({launch, start, free});
      ends.push_back(free);
    }
    tell_before(times.collectives.size());
    times.total = std::max(computed, free);
    return times;
  }

 private:
  void carry_out(Operation operation, Range asked, std::size_t collective) {
    auto range = script_.reduced(collective, asked);
    auto all = rendezvous_.exchange(rank_, doubles(range));
    auto each = std::max<std::size_t>(1, range.count / all.size());
    std::vector<float> values(range.count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double value = 0;
      for (const auto& mine : all) value += mine[i];
      if (operation == Operation::all_gather) value = all[i / each][i];
      values[i] = static_cast<float>(value);
    }
    script_.values({rank_, step_, collective, values});
    auto mine = operation == Operation::reduce_scatter ? range.part(rank_, world_size()) : range;
    write(mine.first, std::span(values).subspan(mine.first - range.first, mine.count));
  }

  std::span<float> slice(Range range) { return std::span(buffer_).subspan(range.first, range.count); }
  std::vector<double> doubles(Range range) {
    auto values = slice(range);
    return {values.begin(), values.end()};
  }

  const Script& script_;
  Rendezvous& rendezvous_;
  int rank_, step_ = -1;
  std::vector<float> buffer_;
};

// Runs `body` on every rank. Returns what each rank threw, empty where it threw nothing.
inline std::vector<std::string> on_all_ranks(const Script& script,
                                             const std::function<void(FakeBackend& backend)>& body) {
  Rendezvous rendezvous(script.ranks);
  std::vector<std::string> failures(static_cast<std::size_t>(script.ranks));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < script.ranks; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        FakeBackend backend(script, rendezvous, rank);
        body(backend);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
        rendezvous.leave();
      }
    });
  for (auto& rank : ranks) rank.join();
  return failures;
}

}  // namespace ddpsim::validate::test
