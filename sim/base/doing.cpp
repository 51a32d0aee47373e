#include "sim/base/doing.hpp"

#include <array>

#include <fmt/core.h>

namespace ddpsim {
namespace {

std::array<Doing::Said, 64> all;
std::atomic<std::uint64_t> begun = 0;

Doing::Said* say(const char* what) {
  for (auto& one : all) {
    const char* nothing = nullptr;
    if (!one.what.compare_exchange_strong(nothing, what)) continue;
    one.share = -1;
    one.number = ++begun;
    return &one;
  }
  return nullptr;
}

}  // namespace

Doing::Doing(const char* what) : said_(say(what)) {}

Doing::~Doing() {
  if (said_) said_->what = nullptr;
}

void Doing::done(double share) {
  if (said_) said_->share.store(share, std::memory_order_relaxed);
}

std::string doing_now() {
  const char* last = nullptr;
  double share = -1;
  std::uint64_t number = 0;
  for (const auto& one : all)
    if (const char* what = one.what; what && one.number > number) {
      last = what;
      share = one.share;
      number = one.number;
    }
  if (!last) return {};
  return share < 0 ? last : fmt::format("{}, {:.0f} % done", last, 100 * share);
}

}  // namespace ddpsim
