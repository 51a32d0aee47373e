#include "sim/program/program.hpp"

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

}  // namespace ddpsim
