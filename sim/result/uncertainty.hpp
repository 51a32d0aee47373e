#pragma once
// How far an iteration may be from its prediction, for what nobody measured: docs/model.md, "How sure a
// prediction is".
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sim/evidence/evidence.hpp"
#include "sim/evidence/interval.hpp"
#include "sim/evidence/response.hpp"

namespace ddpsim {

class Uncertainty {
 public:
  // What is drawn, and the width of the 80 % interval if nothing else were.
  struct Part {
    const EvidenceClass* of;
    std::string what;
    Evidence::Line line;
    double width = 0;
    // "PCIe, from one source; such collectives took 1.4 times as long"
    [[nodiscard]] std::string phrase() const;
  };
  // `parts` and `unknowns`: the same in other words, but for what a step has of its own. `evidence`: what all
  // of it is from; null: nothing is known of ways. `simulated`: the iteration of each draw; none: by the
  // response.
  Uncertainty(Response response, const Unknowns& unknowns, std::vector<Part> parts,
              std::shared_ptr<const Evidence> evidence = nullptr, std::vector<Seconds> simulated = {});

  // The iteration of each draw.
  [[nodiscard]] const std::vector<Seconds>& times() const { return times_; }
  [[nodiscard]] const Interval& likely() const { return likely_; }  // 80 %
  [[nodiscard]] const Interval& middle() const { return middle_; }  // 50 %
  // That this share of the draws lies in, from 0 to 1.
  [[nodiscard]] Interval interval(double share) const { return interval_of(times_, share); }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }  // the widest first
  [[nodiscard]] const Evidence* evidence() const { return evidence_.get(); }
  // Phrases of those that make the interval wide.
  [[nodiscard]] std::vector<std::string> phrases() const;

 private:
  std::vector<Part> parts_;
  std::shared_ptr<const Evidence> evidence_;
  std::vector<Seconds> times_;
  Interval likely_, middle_;
};

inline constexpr double kLikely = 0.8, kMiddle = 0.5;

}  // namespace ddpsim
