#pragma once
// What Gloo's processes get out of the machines they run on.
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace ddpsim::gloo {

struct Host {
  // What one process sends over TCP while it receives as much: with its buffers in memory, and while those of
  // all processes of the machine fit into `cache`.
  BytesPerSecond process_bandwidth;
  BytesPerSecond cached_bandwidth;
  Bytes cache;
  std::optional<BytesPerSecond> machine_bandwidth;  // what all processes of a machine send; none: no limit
  BytesPerSecond reduction_bandwidth;               // of a process adding one buffer to another
  Seconds step_latency;                             // of a step of the ring, whatever its size
};

// Where nobody says: fitted to published times of one server (measurements/gloo).
Host usual_host();

// How far usual_host() is from measured times, in words.
std::string_view usual_host_errors();

}  // namespace ddpsim::gloo
