#pragma once
// One training step of a rank as data: what it computes, which collectives it launches, and what waits for
// what. Strategies build programs, replay() and real ranks carry them out.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// Compute ops of a lane run one after the other; lanes are streams of one GPU, and those at work share it
// evenly. The collectives of a communicator are launched in their order, each as soon as those before it are
// launched and what it waits for has ended. There is no op "wait": an op waits for others by listing them.
struct Op {
  enum class Kind { compute, collective };
  Kind kind = Kind::compute;
  Activity activity = Activity::forward;  // with `index` its label
  std::size_t index = 0;
  // compute: on a rank without slowdown and with nothing beside it. collective: how much longer this one
  // takes than its communicator says.
  Seconds duration;
  bool is_fixed = false;         // compute: as long on a slower GPU, of its host or its links
  std::size_t lane = 0;          // compute: 0 is that of the passes
  std::size_t communicator = 0;  // collective: of the program's
  Operation operation{};
  Bytes bytes;
  std::vector<std::size_t> after;  // earlier ops that must have ended

  bool operator==(const Op&) const = default;
};

struct Program {
  std::size_t communicators = 1;
  std::vector<Op> ops;
  bool operator==(const Program&) const = default;
};

// A step as a strategy builds it.
struct StepProgram {
  Program program;
  // By bucket: the op with whose end all its gradients are there; none: they are as the program starts.
  std::vector<std::optional<std::size_t>> ready;
  // The compute op before the last backward pass; none: what comes before takes what it computes.
  std::optional<std::size_t> before_last_backward;
  // Of all ranks but 0, where that one does more: the same ops, of which some take no time.
  std::optional<Program> others;
};

// One line an op, for people and tests: "3 all_reduce 2: all_reduce of 25 MiB on 0, after 1 2".
std::string program_text(const Program& program);

// Throws InternalError where an op waits for one that is not before it.
void check_program(const Program& program);

// Of its compute ops, one at least.
std::size_t lanes_of(const Program& program);

// The compute op before the backward pass that follows the last forward pass; none: there is no such pass.
std::optional<std::size_t> before_last_backward_of(const Program& program);

// A step is over once all of it is, whoever waits for it: adds a last op that takes no time and waits for
// collectives that no other does, and for what other lanes end with.
void end_with_all(Program& program);

}  // namespace ddpsim
