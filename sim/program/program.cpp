#include "sim/program/program.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

std::string op_name(const Op& op) {
  return fmt::format("{} {}", activity_name(op.activity), op.index);
}

}  // namespace

std::string program_text(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    text += fmt::format("{} {}:", i, op_name(op));
    if (op.kind == Op::Kind::collective)
      text += fmt::format(" {} of {} on {}", operation_name(op.operation), format_bytes(op.bytes),
                          op.communicator);
    if (op.duration > Seconds(0) || op.kind == Op::Kind::compute)
      text += fmt::format(" {}", format_seconds(op.duration));
    if (!op.after.empty()) text += ", after";
    for (auto before : op.after) text += fmt::format(" {}", before);
    text += "\n";
  }
  return text;
}

void check_program(const Program& program) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    for (auto before : op.after)
      DDPSIM_CHECK(before < i,
                   fmt::format("op {} ({}) waits for op {}, which is not before it", i, op_name(op), before));
    DDPSIM_CHECK(op.kind == Op::Kind::compute || op.communicator < program.communicators,
                 "a collective has a communicator");
  }
}

std::size_t lanes_of(const Program& program) {
  std::size_t lanes = 1;
  for (const auto& op : program.ops) lanes = std::max(lanes, op.lane + 1);
  return lanes;
}

std::optional<std::size_t> before_last_backward_of(const Program& program) {
  std::optional<std::size_t> last, found;
  bool is_forward = true;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    if (op.kind != Op::Kind::compute || op.lane != 0) continue;
    if (op.activity == Activity::backward && std::exchange(is_forward, false)) found = last;
    is_forward |= op.activity == Activity::forward;
    last = i;
  }
  return found;
}

void end_with_all(Program& program) {
  std::vector<bool> is_left(program.ops.size());
  std::vector<std::optional<std::size_t>> ends(lanes_of(program));  // by lane
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    for (auto one : op.after) is_left[one] = false;
    if (op.kind == Op::Kind::collective) {
      is_left[i] = true;
    } else if (op.lane > 0) {
      if (auto before = std::exchange(ends[op.lane], i)) is_left[*before] = false;
      is_left[i] = true;
    }
  }
  Op last;
  last.activity = Activity::optimizer;
  last.index = program.ops.size();
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (is_left[i]) last.after.push_back(i);
  if (!last.after.empty()) program.ops.push_back(std::move(last));
}

}  // namespace ddpsim
