#pragma once
// When what is sent over one direction of a link arrives.
#include "sim/base/units.hpp"

namespace ddpsim::validate {

// Packets leave one after another at the link's rate, each when its last byte has left, and travel for the
// delay. A pause earns no credit.
class LinkClock {
 public:
  LinkClock(BytesPerSecond rate, Seconds delay) : rate_(rate), delay_(delay) {}

  // When a packet of so many bytes arrives that is handed to the link at `now`. `now` never goes back.
  Seconds arrival(Seconds now, Bytes bytes);

 private:
  BytesPerSecond rate_;
  Seconds delay_;
  Seconds busy_until_;
};

}  // namespace ddpsim::validate
