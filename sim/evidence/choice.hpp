#pragma once
// Which of several ways is fastest, how sure that is, and what the wrong one costs.
#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/evidence/interval.hpp"

namespace ddpsim {

class Choice {
 public:
  // Of each alternative the iteration in every draw, drawn together: what they share decides nothing. At
  // least one; all of as many draws.
  explicit Choice(std::vector<std::vector<Seconds>> alternatives, Weights weights = {});

  // Of each, that it is the fastest; equals share it.
  [[nodiscard]] const std::vector<double>& probability() const { return probability_; }
  // Of each, what it takes more than the fastest of its draw, as a share, on average.
  [[nodiscard]] const std::vector<double>& regret() const { return regret_; }
  // Of least regret; of equals the first.
  [[nodiscard]] std::size_t best() const;
  // Those of which it is less than `sure` that they are slower than `than` by more than `within`, itself
  // among them.
  [[nodiscard]] std::vector<std::size_t> ties(std::size_t than, double within = kTie,
                                              double sure = kSure) const;

 private:
  static constexpr double kTie = 0.005, kSure = 0.8;
  [[nodiscard]] double weight(std::size_t draw) const { return weights_.empty() ? 1 : weights_[draw]; }

  std::vector<std::vector<Seconds>> alternatives_;
  Weights weights_;
  double total_ = 0;  // of all weights
  std::vector<double> probability_, regret_;
};

}  // namespace ddpsim
