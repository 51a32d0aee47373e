#pragma once
// How far curves are from measured tables, and which rows of a table are to be distrusted.
#include <functional>
#include <string>
#include <vector>

#include "sim/calibrate/fit.hpp"

namespace ddpsim::calibrate {

struct JudgedPoint {
  Bytes bytes;
  Seconds measured, predicted;
  SourceSpan span;
  std::string doubt;  // why the row is distrusted; empty: it is not

  // |ln(predicted / measured)|
  [[nodiscard]] double error() const;
};

// Errors as shares: exp(|ln(predicted / measured)|) - 1. `mean` is the geometric mean.
struct Judgement {
  std::vector<JudgedPoint> points;
  double mean = 0, worst = 0;
};

// `time` predicts. A row is distrusted when its error stands out from the table's (more than three times
// their robust deviation, at least 15 %), when out of place and in place differ by more than 30 %, or when a
// larger message is measured more than 3 % faster.
Judgement judge(const std::vector<Point>& points, const std::function<Seconds(Bytes)>& time);

}  // namespace ddpsim::calibrate
