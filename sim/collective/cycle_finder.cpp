#include "sim/collective/cycle_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddpsim {
namespace {

constexpr double kSame = 1e-9;  // of a flow's latency and bytes

bool has_ended(const FlowProgress::Channel& channel) {
  return channel.flows.empty();
}

}  // namespace

bool CycleFinder::is_filled(const FlowProgress& progress) const {
  for (std::size_t c = 0; c < unit_.channels.size(); ++c) {
    const auto& channel = unit_.channels[c];
    const auto& at = progress.channels[c];
    if (!has_ended(at) && (at.round < channel.last_level || at.round >= channel.chunking.steps(buffer_)))
      return false;
  }
  return true;
}

bool CycleFinder::is_same(const FlowProgress& a, const FlowProgress& b) const {
  for (std::size_t c = 0; c < unit_.channels.size(); ++c) {
    const auto& channel = unit_.channels[c];
    auto same_flow = [&](const FlowProgress::UnderWay& one, const FlowProgress::UnderWay& other) {
      if (one.flow != other.flow) return false;
      const auto& flow = channel.flows[one.flow];
      auto bytes = flow.piece * channel.chunking.chunk(buffer_);
      return std::abs((one.latency_left - other.latency_left).value()) <= kSame * flow.latency.value() &&
             std::abs((one.bytes_left - other.bytes_left).value()) <= kSame * bytes.value();
    };
    const auto &mine = a.channels[c].flows, &others = b.channels[c].flows;
    if (!std::equal(mine.begin(), mine.end(), others.begin(), others.end(), same_flow)) return false;
  }
  return true;
}

int CycleFinder::cycles_left(const FlowProgress& from, const FlowProgress& to) const {
  int left = std::numeric_limits<int>::max();
  for (std::size_t c = 0; c < unit_.channels.size(); ++c) {
    if (has_ended(to.channels[c])) continue;
    int rounds = to.channels[c].round - from.channels[c].round;
    if (rounds == 0) return 0;
    left = std::min(left, (unit_.channels[c].chunking.steps(buffer_) - 1 - to.channels[c].round) / rounds);
  }
  return left == std::numeric_limits<int>::max() ? 0 : left;
}

std::optional<CycleFinder::Skip> CycleFinder::see(const FlowProgress& progress, Seconds now) {
  if (!is_filled(progress)) {
    anchor_.reset();
    return std::nullopt;
  }
  if (anchor_ && is_same(*anchor_, progress)) {
    if (int cycles = cycles_left(*anchor_, progress); cycles > 0) {
      Skip skip{progress, static_cast<double>(cycles) * (now - anchor_time_)};
      for (std::size_t c = 0; c < progress.channels.size(); ++c)
        skip.progress.channels[c].round += cycles * (progress.channels[c].round - anchor_->channels[c].round);
      return skip;
    }
  }
  if (!anchor_ || ++seen_ >= limit_) {
    limit_ = anchor_ ? 2 * limit_ : 1;
    seen_ = 0;
    anchor_ = progress;
    anchor_time_ = now;
  }
  return std::nullopt;
}

}  // namespace ddpsim
