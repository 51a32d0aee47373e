#include "validate/launch/launcher.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>

#include "validate/launch/rank_failure.hpp"
#include "validate/launch/rank_process.hpp"
#include "validate/launch/status_array.hpp"
#include <fmt/core.h>
#include <poll.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);
constexpr Seconds kGrace{1};  // for other failures, before one is called the cause

// A process and how long it has shown no sign of life.
struct Watched {
  std::unique_ptr<RankProcess> process;
  std::uint64_t heartbeats = 0;
  Seconds quiet{0};
  [[nodiscard]] bool has_begun() const { return heartbeats > 0; }
};

std::vector<RankRange> processes_of(const LaunchOptions& options) {
  const auto& ranks = options.placement.ranks;
  DDPSIM_CHECK(!ranks.empty(), "there are ranks to start");
  for (std::size_t i = 1; i < ranks.size(); ++i)
    DDPSIM_CHECK(ranks[i] == ranks[i - 1] + 1, "ranks of a machine follow one another");
  if (options.one_process) return {{ranks.front(), static_cast<int>(ranks.size())}};
  std::vector<RankRange> single;
  for (int rank : ranks) single.push_back({rank, 1});
  return single;
}

class Run {
 public:
  Run(const LaunchOptions& options, const RankNetwork& network)
      : options_(options), status_(options.placement.world_size) {
    int local_rank = options.placement.local_rank;
    for (auto ranks : processes_of(options)) {
      watched_.push_back(
          {std::make_unique<RankProcess>(options, network, ranks, local_rank, status_.descriptor())});
      local_rank += ranks.count;
    }
  }
  ~Run() {
    for (auto& watched : watched_) watched.process->kill_group();  // all of them before any is waited for
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Until all have ended well. Throws the first cause.
  void see_through() {
    while (any_running()) {
      auto passed = look();
      if (options_.watch) options_.watch(activity(*watched_.front().process));
      if (!failures_.empty()) grace_left_ -= passed;
      note_ends();
      note_silence(passed);
      if (!failures_.empty() && is_decided()) fail();
    }
    if (!failures_.empty()) fail();
  }

 private:
  [[nodiscard]] bool any_running() const {
    return std::any_of(watched_.begin(), watched_.end(), [](const auto& w) { return w.process->running(); });
  }
  [[nodiscard]] bool is_decided() const {
    return first_cause(failures_).cause == Cause::certain || grace_left_ <= Seconds(0);
  }

  // Reads what the ranks write until there is more to do. Returns the time that passed, of which a pause of
  // this program or of the whole machine is not held against the ranks.
  Seconds look() {
    std::vector<pollfd> outputs;
    for (const auto& watched : watched_) outputs.push_back({watched.process->output_descriptor(), POLLIN, 0});
    poll(outputs.data(), outputs.size(), static_cast<int>(kLook.count()));
    for (auto& watched : watched_) watched.process->read_output();
    auto now = std::chrono::steady_clock::now();
    Seconds passed(std::chrono::duration<double>(now - last_look_).count());
    last_look_ = now;
    return std::min(passed, Seconds(1));
  }

  void note_ends() {
    for (auto& [process, heartbeats, quiet] : watched_) {
      if (!process->running()) continue;
      auto end = process->check();
      if (end && (end->how != ProcessEnd::How::exited || end->number != kOk))
        failures_.push_back(failure_by_end(*process, *end, activity(*process)));
    }
  }

  void note_silence(Seconds passed) {
    for (auto& watched : watched_) {
      if (!watched.process->running()) continue;
      auto heartbeats = heartbeats_of(*watched.process);
      watched.quiet = heartbeats == watched.heartbeats ? watched.quiet + passed : Seconds(0);
      watched.heartbeats = heartbeats;
      if (watched.quiet > (watched.has_begun() ? options_.silence : options_.rendezvous))
        failures_.push_back(silence_of(watched));
    }
  }

  // A rank that others have lost may not have been silent for long enough yet.
  void suspect_the_quiet() {
    for (const auto& watched : watched_)
      if (watched.process->running() && watched.quiet > options_.silence / 2)
        failures_.push_back(silence_of(watched));
  }

  [[noreturn]] void fail() {
    suspect_the_quiet();
    std::rethrow_exception(first_cause(failures_).error);
  }

  [[nodiscard]] RankFailure silence_of(const Watched& watched) const {
    return watched.has_begun()
               ? failure_by_silence(*watched.process, watched.quiet, activity(*watched.process))
               : failure_to_begin(*watched.process, watched.quiet);
  }

  // Of all ranks in the process: any of them shows that it runs.
  [[nodiscard]] std::uint64_t heartbeats_of(const RankProcess& process) const {
    std::uint64_t sum = 0;
    auto [first, count] = process.ranks();
    for (int rank = first; rank < first + count; ++rank) sum += status_[rank].heartbeats;
    return sum;
  }
  // Of the first rank in the process that has one.
  [[nodiscard]] std::string activity(const RankProcess& process) const {
    auto [first, count] = process.ranks();
    for (int rank = first; rank < first + count; ++rank)
      if (auto text = activity_of(status_[rank]); !text.empty()) return text;
    return {};
  }

  const LaunchOptions& options_;
  StatusArray status_;
  std::vector<Watched> watched_;
  std::vector<RankFailure> failures_;
  Seconds grace_left_ = kGrace;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

}  // namespace

void run_ranks(const LaunchOptions& options, const RankNetwork& network) {
  if (access(options.program.c_str(), X_OK) != 0)
    throw BackendMissing(
        fmt::format("the program '{}' cannot be run: {}\n"
                    "hint: it is built and installed beside ddpsim",
                    options.program, std::strerror(errno)));
  std::signal(SIGCHLD, SIG_DFL);  // where it was ignored, nobody would learn how a rank ended
  Run(options, network).see_through();
}

}  // namespace ddpsim::validate
