#include "validate/harness/rank_status.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>

#include "validate/harness/environment_variable.hpp"
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");

using Words = std::array<std::uint64_t, kActivityBytes / sizeof(std::uint64_t)>;

void beat_until(const std::stop_token& stop, RankStatus& status) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    woken.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
    status.heartbeats.fetch_add(1, std::memory_order_relaxed);
  }
}

// Signals are for the thread that works.
std::jthread start_heart(RankStatus& status) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread heart(beat_until, std::ref(status));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return heart;
}

Words read_words(const RankStatus& status) {
  Words words;
  std::transform(status.activity.begin(), status.activity.end(), words.begin(),
                 [](const auto& word) { return word.load(std::memory_order_relaxed); });
  return words;
}

// No longer than `limit`, and not cut inside a character of UTF-8.
std::string_view shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace

StatusReporter::StatusReporter(int rank) {
  if (!environment_variable("DDPSIM_STATUS_FD")) return;
  const std::string hint = "ddpsim sets it for the programs that it starts; unset it";
  int descriptor = required_number("DDPSIM_STATUS_FD", 0, std::numeric_limits<int>::max(), hint);
  struct stat file {};
  auto first = static_cast<std::size_t>(rank);
  bool fits = fstat(descriptor, &file) == 0 &&
              static_cast<std::size_t>(file.st_size) >= (first + 1) * sizeof(RankStatus);
  if (fits)
    memory_ = mmap(nullptr, bytes_ = static_cast<std::size_t>(file.st_size), PROT_READ | PROT_WRITE,
                   MAP_SHARED, descriptor, 0);
  if (!fits || memory_ == MAP_FAILED)
    throw InputError(fmt::format("the environment variable DDPSIM_STATUS_FD is {}, which is no file with "
                                 "an entry of rank {}",
                                 descriptor, rank),
                     hint);
  status_ = static_cast<RankStatus*>(memory_) + first;
  status_->heartbeats.fetch_add(1, std::memory_order_relaxed);  // begun, however soon it ends
  heart_ = start_heart(*status_);
}

StatusReporter::~StatusReporter() {
  if (!status_) return;
  heart_.request_stop();
  heart_.join();
  munmap(memory_, bytes_);
}

// A sequence lock with one writer: Boehm, "Can seqlocks get along with programming language memory models?",
// 2012.
void StatusReporter::doing(std::string_view activity) {
  if (!status_) return;
  auto text = shortened(activity, kActivityBytes);
  Words words{};
  std::memcpy(words.data(), text.data(), text.size());
  auto version = status_->version.load(std::memory_order_relaxed) | 1U;
  status_->version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i)
    status_->activity[i].store(words[i], std::memory_order_relaxed);
  status_->version.store(version + 1, std::memory_order_release);
}

std::string activity_of(const RankStatus& status) {
  constexpr int kAttempts = 100;  // a rank may have died while writing
  Words words{};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto before = status.version.load(std::memory_order_acquire);
    words = read_words(status);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && before == status.version.load(std::memory_order_relaxed)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::array<char, kActivityBytes> bytes;
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0')};
}

}  // namespace ddpsim::validate
