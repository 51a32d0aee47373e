#pragma once
// Runs independent tasks in child processes, one process a task, so that each starts from the same state
// (SimGrid keeps one engine a process) and results do not depend on how many run at once.
#include <cstddef>
#include <functional>
#include <string>

#include "sim/base/environment_error.hpp"

namespace ddpsim {

using OnLost = std::function<void(std::size_t, const EnvironmentError&)>;
// Whoever does not say what becomes of lost tasks cannot go on without them.
[[noreturn]] inline void throw_lost(std::size_t, const EnvironmentError& why) {
  throw why;
}

// Calls task(i) for i in [0, n) in children, at most `jobs` at a time, and on_result(i, bytes) here, in the
// order of i, as soon as that is known; in place of it on_lost(i, why) where the machine did not let the task
// end: memory ran out, or its process was killed. Where the machine refuses a process, fewer run at once;
// when it refuses the only one, all tasks not yet started are lost. An exception thrown by a task is rethrown
// here in that task's turn, as InputError or InternalError with the same message; a child that crashes is an
// InternalError that names the task. Children die with this process.
void run_in_forked_workers(std::size_t n, unsigned jobs, const std::function<std::string(std::size_t)>& task,
                           const std::function<void(std::size_t, std::string)>& on_result,
                           const OnLost& on_lost = throw_lost);

}  // namespace ddpsim
