#pragma once
// The part of `simulate --explain` that is about what would change an iteration: each change and what it
// comes to, for people and for JSON.
#include <array>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/columns.hpp"
#include "sim/study/what_if.hpp"

namespace ddpsim {

struct Outcome {
  std::string change;
  std::vector<std::string> set;  // what makes it, as --set takes it
  Seconds difference;            // of the iteration
  Fit fit = Fit::yes;            // into the memory that the scenario fits into
  std::optional<bool> fits;      // into a GPU's memory, where it is known what a GPU holds
};
Outcome outcome_of(const Change& change, const IterationMetrics& changed, const IterationMetrics& metrics);

// Of unit sizes and shard groups, those that fit.
class BestSharding {
 public:
  void add(const Outcome& outcome);
  // A tie, or less than what anybody could measure, goes to what there is.
  void print(std::ostream& out, Seconds iteration) const;

 private:
  struct Kind {
    std::string_view prefix, what;
    int tried = 0;
    std::optional<Outcome> best = {};
  };
  std::array<Kind, 2> kinds_{Kind{"units of ", "unit size"}, Kind{"shard group of ", "shard group"}};
};

// Shortest first.
void print_outcomes(std::ostream& out, const std::vector<Outcome>& outcomes, Seconds iteration,
                    const std::vector<LeftOut>& left_out);
Cell::Fields outcome_fields(const std::vector<Outcome>& outcomes, const std::vector<LeftOut>& left_out);

}  // namespace ddpsim
