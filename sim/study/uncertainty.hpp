#pragma once
// How an iteration moves with what nobody measured, by simulating it with other values of each.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/knobs.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/result/uncertainty.hpp"

namespace ddpsim {

// The simulations that a scenario's curves are drawn through, and behind them those of draws, each with all
// that nobody measured turned at once; no draws: all are read off the curves. `are_lines`: through two points
// each.
class CurveRuns {
 public:
  explicit CurveRuns(const Scenario& scenario, std::size_t draws = 0, bool are_lines = false);

  [[nodiscard]] const std::vector<Knobs>& knobs() const { return knobs_; }
  [[nodiscard]] const Unknowns& unknowns() const { return unknowns_; }
  // How the iteration moves, with the times of all knobs but those of draws.
  [[nodiscard]] Response response(Seconds iteration, Seconds unvaried, std::span<const Seconds> times) const;
  // `unvaried`: what the scenario takes as it is, if iterations do not differ; `times`: with each of the
  // knobs; `iteration`: what is predicted. Null where nothing is in doubt.
  [[nodiscard]] std::shared_ptr<const Uncertainty> uncertainty(Seconds iteration, Seconds unvaried,
                                                               std::span<const Seconds> times) const;

 private:
  struct Turned {
    std::string name;  // of the unknown
    double usual;      // the value that the scenario has
    std::vector<double> values;
    const Doubt* doubt;  // of the scenario
  };
  void add_draws(const Scenario& scenario, std::size_t draws);
  // Of each draw, by what it took: what moves the whole iteration moves these, too.
  [[nodiscard]] std::vector<Seconds> simulated(double shown, std::span<const Seconds> times) const;
  void add(const Scenario& scenario, const Doubt& doubt, const Evidence::Line& line, bool is_slow);

  std::shared_ptr<const Evidence> evidence_;
  std::vector<Uncertainty::Part> parts_;
  Unknowns unknowns_;
  std::vector<Turned> turned_;  // in the order of `knobs_`
  std::vector<Knobs> knobs_;
  std::size_t draws_ = 0;  // of the knobs, the last ones
};

// The simulations of it, made: what a step that was measured tells with. By names of classes, those that
// move all of it too; null where nothing is in doubt.
std::optional<Response> response_of(const Scenario& scenario);

}  // namespace ddpsim
