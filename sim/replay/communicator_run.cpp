#include "sim/replay/communicator_run.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/replay/spans.hpp"

namespace ddpsim {

CommunicatorRun::CommunicatorRun(const ReplayedCommunicator& of, Network& network, Seconds origin,
                                 bool is_paced, const MakeExecutor& make, std::function<void()> on_change)
    : of_(of), network_(network), origin_(origin), on_change_(std::move(on_change)) {
  // Several in flight share what they transfer over.
  bool has_plans = of.groups.front().plan != nullptr;
  bool is_shared = of.in_flight > 1 && !has_plans;
  places_.resize(static_cast<std::size_t>(of.in_flight));
  for (auto& place : places_) {
    if (is_paced || is_shared) place.paced = std::make_unique<PacedNetwork>(network);
    place.network = place.paced ? static_cast<FlowNetwork*>(place.paced.get()) : &network;
    if (has_plans)
      for (const auto& group : of.groups)
        place.sendings.push_back({make(*group.plan, *place.network), &place});
  }
}

std::size_t CommunicatorRun::launched() const {
  auto least = std::numeric_limits<std::size_t>::max();
  for (const auto& [member, communicator] : members_)
    least = std::min(least, member->launched(communicator).size());
  return least;
}

bool CommunicatorRun::is_over() const {
  if (members_.empty()) return true;
  const auto& [member, communicator] = members_.front();
  return busy_ == 0 && started_ == member->collectives(communicator);
}

void CommunicatorRun::go_on() {
  if (members_.empty()) return;  // of ranks that others stand for
  while (busy_ < places_.size() && started_ < launched()) {
    auto free = std::find_if(places_.begin(), places_.end(), [](const Place& p) { return !p.is_busy; });
    start(*free, started_++);
  }
}

void CommunicatorRun::start(Place& place, std::size_t number) {
  const auto& op = members_.front().of->collective(members_.front().communicator, number);
  for (const auto& [member, communicator] : members_) {
    const auto& other = member->collective(communicator, number);
    DDPSIM_CHECK(
        other.operation == op.operation && other.bytes == op.bytes,
        fmt::format("collective {} of a communicator is {} of {} for one member and {} of {} for another",
                    number, operation_name(op.operation), format_bytes(op.bytes),
                    operation_name(other.operation), format_bytes(other.bytes)));
  }
  ++busy_;
  place.is_busy = true;
  place.number = number;
  place.span = {op.activity, op.index, now(), now(), Seconds(0), op.bytes, op.communicator};
  spans_.push_back(place.span);
  if (place.paced) place.paced->set_pace(pace_);
  carry_out(place, op);
}

bool CommunicatorRun::is_queued(std::size_t number) const {
  if (!last_end_) return false;
  return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.of->launched(member.communicator)[number] < *last_end_;
  });
}

void CommunicatorRun::carry_out(Place& place, const Op& op) {
  auto on_links = [&](std::size_t group) { return of_.groups[group].cost->on_links(op.operation, op.bytes); };
  // Groups of an axis have the same operations in their plans.
  if (place.sendings.empty() || !on_links(0)) return wait_alone(place, op);
  place.groups_left = of_.groups.size();
  place.bytes = op.bytes;
  for (std::size_t group = 0; group < of_.groups.size(); ++group) {
    auto [before, first, end] = on_links(group).value();
    auto& sending = place.sendings[group];
    sending.first_stage = first;
    sending.end_stage = end;
    if (before + op.duration > Seconds(0))
      place.network->after(before + op.duration, [this, &sending] { send(*sending.place, sending); });
    else
      send(place, sending);
  }
}

void CommunicatorRun::send(Place& place, const Sending& sending) {
  sending.executor->start_stages(sending.first_stage, sending.end_stage, place.bytes, [this, &place] {
    if (--place.groups_left == 0) end(place);
  });
}

CollectiveDuration CommunicatorRun::slowest_alone(Operation operation, Bytes bytes) const {
  CollectiveDuration slowest;
  for (const auto& group : of_.groups) {
    auto [idle, queued] = group.cost->alone(operation, bytes);
    slowest = {std::max(slowest.idle, idle), std::max(slowest.queued, queued)};
  }
  return slowest;
}

// Of several at once latencies pass side by side, and transfers share the links equally.
void CommunicatorRun::wait_alone(Place& place, const Op& op) {
  auto duration = slowest_alone(op.operation, op.bytes);
  Seconds time = is_queued(place.number) ? duration.queued : duration.idle;
  if (places_.size() == 1) return place.network->after(time + op.duration, [this, &place] { end(place); });
  Seconds latency = std::min(time, slowest_alone(op.operation, Bytes(1)).queued);
  place.network->after(latency + op.duration, [this, &place, transfer = time - latency] {
    place.is_transferring = true;
    share_links();
    place.network->after(transfer, [this, &place] { end(place); });
  });
}

void CommunicatorRun::share_links() {
  auto transferring =
      std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.is_transferring; });
  for (auto& place : places_)
    if (place.paced)
      place.paced->set_pace(place.is_transferring ? pace_ / static_cast<double>(transferring) : pace_);
}

void CommunicatorRun::set_pace(double pace) {
  if (pace == pace_) return;
  for (auto& place : places_)
    if (place.is_busy) record(place);
  pace_ = pace;
  share_links();
}

void CommunicatorRun::record(Place& place) {
  auto& span = spans_[place.number];
  Seconds end = now();
  span.lost += lost_to(pace_, end - place.span.start);
  span.end = place.span.start = end;
}

void CommunicatorRun::end(Place& place) {
  record(place);
  place.is_busy = place.is_transferring = false;
  --busy_;
  last_end_ = now();
  if (places_.size() > 1) share_links();
  for (const auto& [member, communicator] : members_) member->end_collective(communicator, place.number);
  on_change_();
}

}  // namespace ddpsim
