#include "sim/collective/fluid_network.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// What would happen at one moment if sums of doubles were exact happens together: flows of which no more than
// this fraction is left, timers that are no more than this fraction of the clock late. Bandwidth is shared
// anew once for all of them.
constexpr double kSimultaneous = 1e-12;

}  // namespace

FluidNetwork::FluidNetwork(std::span<const BytesPerSecond> capacities)
    : capacities_(capacities), loads_(capacities.size()) {}

void FluidNetwork::after(Seconds delay, std::function<void()> action) {
  DDPSIM_CHECK(delay.value() >= 0, "time goes forward");
  timers_.emplace(now_ + delay, std::move(action));
}

int FluidNetwork::transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) {
  DDPSIM_CHECK(!route.empty(), "a flow needs a link");
  Flow flow{next_number_, {}, bytes, bytes, BytesPerSecond(0), std::move(done)};
  for (int link : route) {
    auto use = std::find_if(flow.uses.begin(), flow.uses.end(), [link](Use u) { return u.link == link; });
    if (use == flow.uses.end())
      flow.uses.push_back({link, 1});
    else
      ++use->times;
  }
  flows_.push_back(std::move(flow));
  shared_ = false;
  return next_number_++;
}

void FluidNetwork::cancel(int flow) {
  if (std::erase_if(arrived_, [flow](const Arrived& one) { return one.number == flow; }) == 1) return;
  DDPSIM_CHECK(std::erase_if(flows_, [flow](const Flow& f) { return f.number == flow; }) == 1,
               "the flow has not ended");
  shared_ = false;
}

Bytes FluidNetwork::remaining(int flow) const {
  if (std::any_of(arrived_.begin(), arrived_.end(),
                  [flow](const Arrived& one) { return one.number == flow; }))
    return {};
  auto it = std::lower_bound(flows_.begin(), flows_.end(), flow,
                             [](const Flow& f, int number) { return f.number < number; });
  DDPSIM_CHECK(it != flows_.end() && it->number == flow, "the flow has not ended");
  return it->left;
}

void FluidNetwork::load_links() {
  for (int link : used_links_) loads_[static_cast<std::size_t>(link)].users = 0;
  used_links_.clear();
  for (const auto& flow : flows_)
    for (auto [link, times] : flow.uses) {
      auto& load = loads_[static_cast<std::size_t>(link)];
      if (load.users == 0) {
        load.free = capacities_[static_cast<std::size_t>(link)].value();
        used_links_.push_back(link);
      }
      load.users += times;
    }
}

// Raises all rates together; whoever meets a full link keeps the rate it has there.
void FluidNetwork::share_bandwidth() {
  shared_ = true;
  load_links();
  open_.clear();
  for (auto& flow : flows_) open_.push_back(&flow);
  while (!open_.empty()) {
    double level = std::numeric_limits<double>::infinity();
    std::erase_if(used_links_, [&](int link) { return loads_[static_cast<std::size_t>(link)].users <= 0; });
    for (int link : used_links_) {
      const auto& load = loads_[static_cast<std::size_t>(link)];
      level = std::min(level, load.free / load.users);
    }
    auto is_free = [&](const Flow* flow) {
      return std::none_of(flow->uses.begin(), flow->uses.end(), [&](Use use) {
        const auto& load = loads_[static_cast<std::size_t>(use.link)];
        return load.free <= level * (1 + kSimultaneous) * load.users;
      });
    };
    bound_.clear();
    std::erase_if(open_, [&](Flow* flow) {
      if (is_free(flow)) return false;
      bound_.push_back(flow);
      return true;
    });
    DDPSIM_CHECK(!bound_.empty(), "every flow has a bottleneck");
    for (auto* flow : bound_) {
      flow->rate = BytesPerSecond(level);
      for (auto [link, times] : flow->uses) {
        auto& load = loads_[static_cast<std::size_t>(link)];
        load.free = std::max(0.0, load.free - times * level);
        load.users -= times;
      }
    }
  }
}

Seconds FluidNetwork::next_arrival() const {
  Seconds earliest(std::numeric_limits<double>::infinity());
  for (const auto& flow : flows_) earliest = std::min(earliest, flow.left / flow.rate);
  return earliest;
}

void FluidNetwork::advance(Seconds duration) {
  std::erase_if(flows_, [&](Flow& flow) {
    Bytes left = flow.left - flow.rate * duration;
    if (left > kSimultaneous * flow.bytes) {
      flow.left = left;
      return false;
    }
    arrived_.push_back({flow.number, std::move(flow.done)});
    return true;
  });
  if (!arrived_.empty()) shared_ = false;
  now_ += duration;
  while (!arrived_.empty()) {
    auto done = std::move(arrived_.front().done);
    arrived_.pop_front();
    done();
  }
}

void FluidNetwork::run(Seconds end) {
  stopped_ = false;
  while (!stopped_ && (!flows_.empty() || !timers_.empty())) {
    if (!shared_) share_bandwidth();
    Seconds arrival = next_arrival();
    Seconds timer =
        timers_.empty() ? Seconds(std::numeric_limits<double>::infinity()) : timers_.begin()->first - now_;
    Seconds next = std::min(arrival, timer);
    if (now_ + next > end) break;
    if (timer <= arrival) {
      advance(timer);
      now_ = std::max(now_, timers_.begin()->first);
      auto due = now_ * (1 + kSimultaneous);
      while (!timers_.empty() && timers_.begin()->first <= due) {
        auto action = timers_.extract(timers_.begin());
        action.mapped()();
      }
    } else {
      advance(arrival);
    }
  }
  if (std::isfinite(end.value()) && now_ < end) {
    if (!shared_) share_bandwidth();
    advance(end - now_);
  }
}

}  // namespace ddpsim
