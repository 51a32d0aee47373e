#include "sim/base/doing.hpp"

#include <atomic>

#include <fmt/core.h>

namespace ddpsim {
namespace {

constexpr double kUnknown = -1;
std::atomic<const char*> doing = nullptr;
std::atomic<double> share_done = kUnknown;

}  // namespace

Doing::Doing(const char* what) : before_(doing.exchange(what)) {
  share_done = kUnknown;
}

Doing::~Doing() {
  doing = before_;
  share_done = kUnknown;
}

void Doing::done(double share) {
  share_done.store(share, std::memory_order_relaxed);
}

std::string doing_now() {
  const char* what = doing;
  if (!what) return {};
  double share = share_done;
  return share < 0 ? what : fmt::format("{}, {:.0f} % done", what, 100 * share);
}

}  // namespace ddpsim
