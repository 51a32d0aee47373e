#pragma once
// Carries packets between the ranks' TUN devices as links of a rate and a delay would.
#include <vector>

#include "validate/testbed/namespace.hpp"
#include <sys/types.h>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// In a child process, with real-time priority where that is permitted: it must not wait for the ranks' own
// computing. It ends with this object or with this process, whichever ends first; the devices end with it, so
// that ranks whose links are gone notice at once.
class Forwarder {
 public:
  // `devices` are rank 0's, rank 1's, ... Throws RunFailed.
  Forwarder(std::vector<Descriptor> devices, BytesPerSecond rate, Seconds delay);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  [[nodiscard]] bool is_real_time() const { return is_real_time_; }

 private:
  pid_t child_ = -1;
  bool is_real_time_ = false;
};

}  // namespace ddpsim::validate
