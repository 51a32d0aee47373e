#include "sim/base/file_stamps.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace ddpsim {
namespace {

thread_local FileStamps* watched = nullptr;

// File systems' clocks are coarser than a nanosecond, by some milliseconds.
constexpr double kFresh = 0.1;  // seconds

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

FileStamps::Watch::Watch(FileStamps& stamps) : before_(std::exchange(watched, &stamps)) {}

FileStamps::Watch::~Watch() {
  watched = before_;
}

FileStamps::Stamp FileStamps::stamp_of(const std::string& path) {
  Stamp stamp;
  stamp.is_there = stat(path.c_str(), &stamp.status) == 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  stamp.is_fresh = stamp.is_there && seconds(now) - seconds(stamp.status.st_mtim) < kFresh;
  return stamp;
}

bool FileStamps::unchanged() const {
  return std::ranges::all_of(files_, [](const auto& file) {
    const auto& [path, then] = file;
    if (then.is_fresh) return false;
    auto now = stamp_of(path);
    if (!then.is_there || !now.is_there) return then.is_there == now.is_there;
    const auto &a = then.status, &b = now.status;
    auto same_time = [](const timespec& x, const timespec& y) {
      return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
    };
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           same_time(a.st_mtim, b.st_mtim) && same_time(a.st_ctim, b.st_ctim);
  });
}

void stamp_file(const std::string& path) {
  if (watched) watched->files_.try_emplace(path, FileStamps::stamp_of(path));
}

}  // namespace ddpsim
