#pragma once
// What went wrong with a rank, in words, and which of several failures was the first.
#include <exception>
#include <string>
#include <vector>

#include "validate/launch/rank_process.hpp"

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// How sure it is that a failure is not the consequence of another rank's.
enum class Cause {
  certain,  // killed, stopped, silent
  likely,   // ended with an error of its own
  doubtful  // gave up as after a lost connection: RunFailed, abort, a broken pipe
};

struct RankFailure {
  Cause cause = Cause::certain;
  std::exception_ptr error;
};

// `activity` is what the rank was doing, "" before it began.
RankFailure failure_by_end(const RankProcess& process, ProcessEnd end, const std::string& activity);
RankFailure failure_by_silence(const RankProcess& process, Seconds silence, const std::string& activity);
RankFailure failure_to_begin(const RankProcess& process, Seconds waited);

// The surest; the earliest of these.
const RankFailure& first_cause(const std::vector<RankFailure>& failures);

// The part of a program's output that says why it failed: from the last line that is an error message on, or
// the last few lines.
std::string complaint_in(const std::string& output);

}  // namespace ddpsim::validate
