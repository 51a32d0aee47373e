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
      since_(of.start),
      has_ended_(of.program->ops.size()),
      ended_(of.program->ops.size()),
      launches_(of.program->communicators) {
  check_program(*of.program);
  spans_.reserve(of.program->ops.size());
  DDPSIM_CHECK(of.communicators.size() == of.program->communicators, "every communicator has a place");
  if (is_paced) paced_.emplace(network);
  for (std::size_t i = 0; i < of.program->ops.size(); ++i)
    if (const auto& op = of.program->ops[i]; op.kind == Op::Kind::collective)
      launches_[op.communicator].ops.push_back(i);
}

void ClassRun::start() {
  network_.after(of_.start - origin_, [this] {
    is_started_ = true;
    since_ = now();  // of_.start but for rounding, which is no time to wait
    on_change_();
  });
}

bool ClassRun::advance() {
  if (!is_started_) return false;
  const auto& ops = of_.program->ops;
  while (!is_working_ && head_ < ops.size()) {
    const auto& op = ops[head_];
    if (op.kind == Op::Kind::collective) {
      ++head_;
      continue;
    }
    if (!have_ended(op, ended_before_)) break;
    begin(op);
  }
  bool has_launched = false;
  for (auto& launches : launches_) has_launched |= launch(launches);
  return has_launched;
}

bool ClassRun::have_ended(const Op& op, std::size_t& known) const {
  while (known < op.after.size() && has_ended_[op.after[known]]) ++known;
  return known == op.after.size();
}

void ClassRun::begin(const Op& op) {
  record_wait(op);
  Seconds duration = (op.is_fixed ? 1 : of_.slowdown) * op.duration;
  if (duration <= Seconds(0)) return end();
  is_working_ = true;
  begun_ = duration;
}

void ClassRun::set_timer() {
  if (!begun_) return;
  Seconds duration = *std::exchange(begun_, std::nullopt);
  if (paced_)
    paced_->after(duration, [this] { finish(); });
  else
    network_.after(duration, [this] { finish(); });
}

bool ClassRun::pass() {
  if (!(paced_ ? paced_->pass(*begun_) : network_.pass(*begun_))) return false;
  begun_.reset();
  return true;
}

void ClassRun::finish() {
  do {
    record_work();
    is_working_ = false;
    end();
    // Nothing that others see has changed while one op follows the other and launches nothing.
    if (bool has_launched = advance(); has_launched || !is_working_) {
      set_timer();
      return on_change_();
    }
  } while (pass());
  set_timer();
}

void ClassRun::end() {
  has_ended_[head_] = true;
  ended_[head_] = now();
  ++head_;
  ended_before_ = 0;
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
  if (pace == paced_->pace()) return;
  if (is_working_) record_work();
  paced_->set_pace(pace);
}

void ClassRun::record_work() {
  const auto& op = of_.program->ops[head_];
  Seconds end = now();
  Span span{op.activity, op.index, since_, end, lost_to(paced_ ? paced_->pace() : 1, end - since_)};
  span.is_fixed = op.is_fixed;
  add_span(spans_, span);
  since_ = end;
}

void ClassRun::record_wait(const Op& op) {
  Seconds end = now();
  if (end <= since_) return;
  auto last = std::max_element(op.after.begin(), op.after.end(),
                               [&](auto a, auto b) { return ended_[a] < ended_[b]; });
  bool broadcast = of_.program->ops[*last].activity == Activity::broadcast;
  add_span(spans_, {broadcast ? Activity::broadcast : Activity::wait, 0, since_, end});
  since_ = end;
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
      DDPSIM_CHECK(op > head_, "compute that waits for nothing goes on");
      op = head_;
      continue;
    }
    const auto& [own, launched, known] = launches_[at.communicator];
    auto number = static_cast<std::size_t>(std::find(own.begin(), own.end(), op) - own.begin());
    if (number < launched.size()) return {at.communicator, number};
    op = own[launched.size()];  // those of a communicator are launched in their order
  }
}

}  // namespace ddpsim
