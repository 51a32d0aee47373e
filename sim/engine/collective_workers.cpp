#include "sim/engine/collective_workers.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

CollectiveWorkers::CollectiveWorkers(const GroupCollectives& collectives, int workers, Seconds first_start)
    : collectives_(collectives),
      n_workers_(static_cast<std::size_t>(workers)),
      first_start_(first_start),
      has_ended_(collectives.requests.size()) {}

void CollectiveWorkers::start_next(Seconds now, std::size_t launched) {
  for (; in_flight_.size() < n_workers_ && n_started_ < launched; ++n_started_) {
    const auto& alone = collectives_.durations[n_started_];
    Seconds time = queued_ > n_started_ ? alone.queued : alone.idle;
    Seconds latency = n_workers_ > 1 ? std::min(time, collectives_.latency) : Seconds(0);
    Seconds transfer = time - latency;
    if (n_started_ == 0) (n_workers_ > 1 ? latency : transfer) += first_start_;
    in_flight_.push_back({n_started_, spans_.size(), latency, transfer});
    const auto& request = collectives_.requests[n_started_];
    spans_.push_back({request.activity, request.index, now, now});
  }
}

double CollectiveWorkers::rate_of(const InFlight& one) const {
  if (one.latency > Seconds(0)) return rate_;
  auto transfers = std::count_if(in_flight_.begin(), in_flight_.end(),
                                 [](const auto& each) { return each.latency <= Seconds(0); });
  return rate_ / static_cast<double>(transfers);
}

Seconds CollectiveWorkers::until_change(const InFlight& one) const {
  return (one.latency > Seconds(0) ? one.latency : one.transfer) / rate_of(one);
}

Seconds CollectiveWorkers::until_change() const {
  DDPSIM_CHECK(is_busy(), "something is in flight");
  Seconds least = until_change(in_flight_.front());
  for (const auto& one : in_flight_) least = std::min(least, until_change(one));
  return least;
}

void CollectiveWorkers::advance(Seconds now, Seconds end_time, Seconds step, std::size_t launched) {
  Seconds passed = end_time - now;
  // All at the rates of before.
  std::vector<double> rates;
  std::vector<bool> changes;
  for (const auto& one : in_flight_) {
    rates.push_back(rate_of(one));
    changes.push_back(until_change(one) <= step);
  }
  std::vector<InFlight> still;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    auto& one = in_flight_[i];
    auto& left = one.latency > Seconds(0) ? one.latency : one.transfer;
    bool is_last_part = &left == &one.transfer;
    left = changes[i] ? Seconds(0) : left - passed * rates[i];
    auto& span = spans_[one.span];
    span.end = end_time;
    span.lost += passed - passed * rate_;
    if (changes[i] && (is_last_part || one.transfer <= Seconds(0)))
      end(one, launched);
    else
      still.push_back(one);
  }
  in_flight_ = std::move(still);
}

void CollectiveWorkers::end(const InFlight& one, std::size_t launched) {
  has_ended_[one.request] = true;
  ++n_ended_;
  queued_ = launched;
}

}  // namespace ddpsim
