#include "sim/text/shell_flow.hpp"

#include <utility>

namespace ddpsim::shell {

void Flow::Condition::add(std::optional<bool> next, char before_next) {
  bool is_or = connector == '|';
  if (connector == ' ')
    value = next;
  else if (value == is_or || next == is_or)
    value = is_or;
  else
    value = value && next ? std::optional(!is_or) : std::nullopt;
  connector = before_next;
}

bool Flow::add(std::optional<bool> status, char connector) {
  if (connector == 'p') return false;
  if (condition_) {
    condition_->add(status, connector);
    return false;
  }
  bool is_unknown = runs() && !status && connector != ' ';
  if (chain_.runs_next()) chain_.value = status.value_or(false);
  if (is_followed()) status_ = chain_.value;
  chain_ = connector == ' ' ? Chain() : Chain{connector, chain_.value};
  return is_unknown;
}

void Flow::begin(std::string_view ends, bool enters) {
  bool is_entered = enters && runs();
  frames_.push_back(
      {ends, is_entered, is_entered, std::exchange(chain_, {}), std::exchange(condition_, std::nullopt)});
  if (is_entered) status_ = true;
}

void Flow::begin_if() {
  begin("fi");
  condition_ = Condition{};
}

void Flow::begin_while(bool is_until) {
  begin("done");
  frames_.back().is_while = true;
  frames_.back().is_until = is_until;
  condition_ = Condition{};
}

void Flow::begin_case(Text subject) {
  begin("esac");
  frames_.back().subject = std::move(subject);
  frames_.back().wants_pattern = true;
  frames_.back().is_followed = false;
}

void Flow::enter(bool is_followed) {
  auto& frame = frames_.back();
  frame.is_followed = frame.may_enter && is_followed;
  if (is_followed) frame.may_enter = false;
  chain_ = {};
}

bool Flow::take_then() {
  if (!condition_ || frames_.back().ends != "fi") return false;
  auto value = std::exchange(condition_, std::nullopt)->value;
  bool is_unknown = frames_.back().may_enter && !value;
  enter(value.value_or(false));
  return is_unknown;
}

void Flow::take_else(bool has_condition) {
  if (frames_.empty() || frames_.back().ends != "fi") return;
  if (has_condition)
    condition_ = Condition{};
  else
    enter(true);
}

std::string_view Flow::take_do() {
  if (!condition_ || !frames_.back().is_while) return "";
  auto value = std::exchange(condition_, std::nullopt)->value;
  enter(value != std::optional(frames_.back().is_until));
  return !frames_.back().is_followed ? "" : frames_.back().is_until ? "until" : "while";
}

const Text* Flow::wants_pattern() const {
  return !frames_.empty() && frames_.back().wants_pattern ? &*frames_.back().subject : nullptr;
}

void Flow::take_pattern(bool matches) {
  frames_.back().wants_pattern = false;
  enter(matches);
}

void Flow::end_branch() {
  if (frames_.empty() || !frames_.back().subject) return;
  frames_.back().wants_pattern = true;
  frames_.back().is_followed = false;
}

std::optional<bool> Flow::end(std::string_view word) {
  if (frames_.empty() || frames_.back().ends != word) return std::nullopt;
  chain_ = frames_.back().chain;
  condition_ = frames_.back().condition;
  frames_.pop_back();
  return status_;
}

}  // namespace ddpsim::shell
