#pragma once
#include <functional>
#include <span>

#include "sim/base/units.hpp"

namespace ddpsim {

// Links that flows share max-min fairly, and timers: what an executor needs of a network. SimGrid is one;
// FluidNetwork, which knows one collective only, another.
class FlowNetwork {
 public:
  virtual ~FlowNetwork() = default;

  [[nodiscard]] virtual Seconds now() const = 0;
  // Calls `action` once `delay` has passed.
  virtual void after(Seconds delay, std::function<void()> action) = 0;
  // Sends `bytes` over all links of `route` at once (a fluid flow; a link listed k times counts k-fold);
  // calls `done` when the last byte is through. Returns a number for this flow.
  virtual int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) = 0;
};

}  // namespace ddpsim
