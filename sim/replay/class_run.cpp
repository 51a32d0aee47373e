#include "sim/replay/class_run.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/replay/spans.hpp"

namespace ddpsim {

ClassRun::ClassRun(const ReplayedClass& of, Network& network, Seconds origin, bool is_paced,
                   std::function<void()> on_change)
    : of_(of),
      network_(network),
      origin_(origin),
      on_change_(std::move(on_change)),
      has_ended_(of.program->ops.size()),
      ended_(of.program->ops.size()),
      launches_(of.program->communicators) {
  check_program(*of.program);
  DDPSIM_CHECK(of.communicators.size() == of.program->communicators, "every communicator has a place");
  for (std::size_t i = 0, many = lanes_of(*of.program); i < many; ++i) {
    auto& lane = lanes_.emplace_back();
    lane.number = i;
    lane.since = of.start;
    if (is_paced) lane.paced.emplace(network);
    skip_others(lane);
  }
  lanes_.front().spans.reserve(of.program->ops.size());
  for (std::size_t i = 0; i < of.program->ops.size(); ++i)
    if (const auto& op = of.program->ops[i]; op.kind == Op::Kind::collective)
      launches_[op.communicator].ops.push_back(i);
}

void ClassRun::start() {
  network_.after(of_.start - origin_, [this] {
    is_started_ = true;
    for (auto& lane : lanes_) lane.since = now();  // of_.start but for rounding, which is no time to wait
    on_change_();
  });
}

void ClassRun::skip_others(Lane& lane) const {
  const auto& ops = of_.program->ops;
  while (lane.head < ops.size() &&
         (ops[lane.head].kind == Op::Kind::collective || ops[lane.head].lane != lane.number))
    ++lane.head;
}

bool ClassRun::advance() {
  if (!is_started_) return false;
  bool has_ended = true;
  while (has_ended) {
    has_ended = false;
    for (auto& lane : lanes_) has_ended |= advance(lane);
    has_ended &= lanes_.size() > 1;  // others may have waited for it
  }
  bool has_launched = false;
  for (auto& launches : launches_) has_launched |= launch(launches);
  return has_launched;
}

bool ClassRun::advance(Lane& lane) {
  const auto& ops = of_.program->ops;
  bool has_ended = false;
  while (!lane.is_working && lane.head < ops.size() && have_ended(ops[lane.head], lane.ended_before)) {
    begin(lane);
    has_ended |= !lane.is_working;
  }
  return has_ended;
}

bool ClassRun::have_ended(const Op& op, std::size_t& known) const {
  while (known < op.after.size() && has_ended_[op.after[known]]) ++known;
  return known == op.after.size();
}

void ClassRun::begin(Lane& lane) {
  const auto& op = of_.program->ops[lane.head];
  record_wait(lane, op);
  Seconds duration = (op.is_fixed ? 1 : of_.slowdown) * op.duration;
  if (duration <= Seconds(0)) return end(lane);
  lane.is_working = true;
  ++working_;
  lane.begun = duration;
}

void ClassRun::set_timers() {
  if (lanes_.size() > 1) share();
  for (auto& lane : lanes_) {
    if (!lane.begun) continue;
    Seconds duration = *std::exchange(lane.begun, std::nullopt);
    if (lane.paced)
      lane.paced->after(duration, [this, &lane] { finish(lane); });
    else
      network_.after(duration, [this, &lane] { finish(lane); });
  }
}

bool ClassRun::pass(Lane& lane) {
  if (!(lane.paced ? lane.paced->pass(*lane.begun) : network_.pass(*lane.begun))) return false;
  lane.begun.reset();
  return true;
}

void ClassRun::finish(Lane& lane) {
  do {
    record_work(lane);
    lane.is_working = false;
    --working_;
    end(lane);
    // Nothing that others see has changed while one op follows the other and launches nothing.
    if (bool has_launched = advance(); has_launched || !lane.is_working || lanes_.size() > 1) {
      set_timers();
      return on_change_();
    }
  } while (pass(lane));
  set_timers();
}

void ClassRun::end(Lane& lane) {
  has_ended_[lane.head] = true;
  ended_[lane.head] = now();
  ++lane.head;
  lane.ended_before = 0;
  skip_others(lane);
}

void ClassRun::share() {
  for (auto& lane : lanes_) {
    if (!lane.is_working) continue;
    double pace = pace_ / static_cast<double>(working_);
    if (pace == lane.paced->pace()) continue;
    record_work(lane);
    lane.paced->set_pace(pace);
  }
}

bool ClassRun::launch(Launches& launches) {
  const auto& ops = of_.program->ops;
  auto known = launches.when.size();
  while (launches.when.size() < launches.ops.size()) {
    const auto& op = ops[launches.ops[launches.when.size()]];
    if (!have_ended(op, launches.ended_before)) break;
    Seconds when = launches.when.empty() ? of_.start : launches.when.back();
    for (auto before : op.after)
      if (ops[before].kind == Op::Kind::compute) when = std::max(when, ended_[before]);
    launches.when.push_back(when);
    launches.ended_before = 0;
  }
  return launches.when.size() > known;
}

void ClassRun::end_collective(std::size_t communicator, std::size_t number) {
  auto op = launches_[communicator].ops[number];
  has_ended_[op] = true;
  ended_[op] = now();
}

void ClassRun::set_pace(double pace) {
  if (pace == pace_) return;
  for (auto& lane : lanes_)
    if (lane.is_working) record_work(lane);
  pace_ = pace;
  if (working_ > 0) return share();
  if (lanes_.size() == 1) lanes_.front().paced->set_pace(pace);
}

// What lanes lose to one another is nobody's loss: the GPU works.
void ClassRun::record_work(Lane& lane) {
  const auto& op = of_.program->ops[lane.head];
  Seconds end = now();
  Span span{op.activity, op.index, lane.since, end, lost_to(pace_, end - lane.since)};
  span.is_fixed = op.is_fixed;
  add_span(lane.spans, span);
  lane.since = end;
}

void ClassRun::record_wait(Lane& lane, const Op& op) {
  Seconds end = now();
  if (end <= lane.since) return;
  if (lane.number == 0) {
    auto last = std::max_element(op.after.begin(), op.after.end(),
                                 [&](auto a, auto b) { return ended_[a] < ended_[b]; });
    const auto& awaited = of_.program->ops[*last];
    bool is_own = awaited.kind == Op::Kind::compute || awaited.activity == Activity::broadcast;
    add_span(lane.spans, {is_own ? awaited.activity : Activity::wait, 0, lane.since, end});
  }
  lane.since = end;
}

ReplayResult::Class ClassRun::take() {
  ReplayResult::Class result{std::move(lanes_.front().spans), {}, std::move(ended_)};
  for (std::size_t i = 1; i < lanes_.size(); ++i) result.others.push_back(std::move(lanes_[i].spans));
  return result;
}

auto ClassRun::waiting() const -> std::optional<Waiting> {
  auto it = std::find(has_ended_.begin(), has_ended_.end(), false);
  if (it == has_ended_.end()) return std::nullopt;
  return waiting_from(static_cast<std::size_t>(it - has_ended_.begin()));
}

auto ClassRun::waiting_at(Waiting collective) const -> Waiting {
  return waiting_from(launches_[collective.communicator].ops[collective.number]);
}

// Ops wait for earlier ones only, so this ends: with a collective that is launched.
auto ClassRun::waiting_from(std::size_t op) const -> Waiting {
  const auto& ops = of_.program->ops;
  while (true) {
    const auto& at = ops[op];
    auto not_ended =
        std::find_if(at.after.begin(), at.after.end(), [&](auto before) { return !has_ended_[before]; });
    if (not_ended != at.after.end()) {
      op = *not_ended;
      continue;
    }
    if (at.kind == Op::Kind::compute) {  // and its turn has not come
      auto head = lanes_[at.lane].head;
      DDPSIM_CHECK(op > head, "compute that waits for nothing goes on");
      op = head;
      continue;
    }
    const auto& [own, launched, known] = launches_[at.communicator];
    auto number = static_cast<std::size_t>(std::find(own.begin(), own.end(), op) - own.begin());
    if (number < launched.size()) return {at.communicator, number};
    op = own[launched.size()];  // those of a communicator are launched in their order
  }
}

}  // namespace ddpsim
