#pragma once
// What each rank is doing, in memory that it shares with the launcher: how a hanging rank is found and the
// collective named.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace ddpsim::validate {

// One a rank, indexed by the rank of the whole run, in an array in an anonymous file whose descriptor the
// launcher leaves open in the rank's process. All zero: the rank has not begun.
struct RankStatus {
  std::atomic<std::uint64_t> heartbeats;  // grows while the process runs, whatever it waits for
  std::atomic<std::uint32_t> version;     // odd while `activity` is written
  // "ddp.bucket_cap = 25MiB, repetition 3: all-reduce 12": eight bytes a word, zeros after the end.
  std::array<std::atomic<std::uint64_t>, 31> activity;
};
inline constexpr std::size_t kActivityBytes = sizeof RankStatus::activity;

// The rank's side: a thread that beats ten times a second, and the activity.
class StatusReporter {
 public:
  // On entry `rank` of the array in the file DDPSIM_STATUS_FD; does nothing where that is not set. Throws
  // InputError where it names no such file.
  explicit StatusReporter(int rank);
  ~StatusReporter();
  StatusReporter(const StatusReporter&) = delete;
  StatusReporter& operator=(const StatusReporter&) = delete;
  // Keeps the first kActivityBytes. Takes no lock and no memory: fit for every collective. Called from one
  // thread at a time.
  void doing(std::string_view activity);

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  RankStatus* status_ = nullptr;
  std::jthread heart_;
};

// The launcher's side: the activity as last written; half of it where the rank died while writing.
std::string activity_of(const RankStatus& status);

}  // namespace ddpsim::validate
