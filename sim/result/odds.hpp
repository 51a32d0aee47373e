#pragma once
#include <optional>

#include "sim/result/columns.hpp"

namespace ddpsim {

// Of one of several ways to do the same job: how sure it is that it is the fastest, what it loses against
// that on average, and whether it cannot be told apart from the one that loses least.
struct Odds {
  double p_best = 0, regret = 0;
  bool is_tied = false;
};

inline constexpr double kRegretNoise = 0.005;  // what means of 1,024 draws do not tell apart

extern const Columns<Odds> kOddsColumns;

// The same of rows that have them; none: nothing is in doubt, or it is not compared.
template <class Row>
Columns<Row> odds_columns(std::optional<Odds> Row::*odds) {
  Columns<Row> columns;
  for (const auto& one : kOddsColumns) columns.push_back({one.key, of(odds, one.value), one.in});
  return columns;
}

}  // namespace ddpsim
