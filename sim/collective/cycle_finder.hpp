#pragma once
// Finds out that a collective repeats itself: pipelines that are filled, rings. What happens then is the same
// again and again until the first channel runs out of chunks, so all but the last of it can be left out.
#include <optional>

#include "sim/collective/flow_run.hpp"

namespace ddpsim {

class CycleFinder {
 public:
  // `unit` outlives this.
  CycleFinder(const FlowUnit& unit, Bytes buffer) : unit_(unit), buffer_(buffer) {}

  struct Skip {
    FlowProgress progress;  // where the unit is after as many whole cycles as there are left
    Seconds duration;       // of them together
  };
  // Where the unit is now. Takes time and memory of one state, however long the cycle (Brent, "An improved
  // Monte Carlo factorization algorithm", 1980, section 2): the state that is compared with is replaced after
  // 1, 2, 4, ... others.
  std::optional<Skip> see(const FlowProgress& progress, Seconds now);

 private:
  [[nodiscard]] bool is_filled(const FlowProgress& progress) const;
  [[nodiscard]] bool is_same(const FlowProgress& a, const FlowProgress& b) const;
  // How many more cycles leave every channel with all its flows still busy.
  [[nodiscard]] int cycles_left(const FlowProgress& from, const FlowProgress& to) const;

  const FlowUnit& unit_;
  Bytes buffer_;
  std::optional<FlowProgress> anchor_;
  Seconds anchor_time_;
  int seen_ = 0, limit_ = 1;  // since the anchor
};

}  // namespace ddpsim
