#pragma once
// Points of tests/report/small_case.hpp (forward 1 s, backward 2 s, optimizer 0.5 s: 3.5 s of computing) with
// measurements.
#include <string>
#include <utility>
#include <vector>

#include "validate/comparison/validation_report.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::validate::test {

// A point and its measured median, with a standard deviation where one is given.
inline SweepPoint measured_point(std::vector<std::string> axis_values, double cap, double predicted,
                                 double measured, std::optional<double> spread = {}) {
  auto point = ddpsim::test::point(std::move(axis_values), cap, predicted);
  point.measured = MeasuredIteration{{}, {}, {}, Seconds(measured), {}};
  if (spread) point.measured->spread = Seconds(*spread);
  return point;
}

inline SweepResult sweep_of(std::vector<std::string> axes, std::vector<SweepPoint> points) {
  return {std::move(axes), std::move(points), {}, "configs/a.yaml"};
}

// Of one cap the prediction is too slow, of the other too fast, and it picks the wrong one of the two:
//   cap    predicted  measured  error                 exposed error
//   1KiB   5.5        5.0       5.5 / 5 - 1 = +10 %   2 / 1.5 - 1 = +33.3 %
//   2KiB   5.0        6.25      5 / 6.25 - 1 = -20 %  1.5 / 2.75 - 1 = -45.5 %
// The regret is 6.25 / 5 - 1 = 25 %.
inline SweepResult wrong_choice() {
  return sweep_of({"ddp.bucket_cap"}, {measured_point({"1KiB"}, 1024, 5.5, 5, 0.25),
                                       measured_point({"2KiB"}, 2048, 5, 6.25, 0.5)});
}

// The same as a run of ours gives it, with the samples and the buckets of its first point. Those are
// predicted from 1 s to 2 s and from 2 s to 4 s (small_case.hpp). The samples deviate by 0.25 s, so that
// their mean is known to 4.303 / sqrt(3) x 0.25 = 0.6211 s, 12.42 % of 5 s: from 4.3789 to 5.6211. The other
// point is measured from 5.75 to 6.75: beyond noise its error is 1 - 5 / 5.75 = 13.04 %, the regret 5.75
// / 5.6211 - 1 = 2.29 %.
inline ValidationReport full_report() {
  auto report = compare(wrong_choice(), {0.05, 0.01});
  report.prediction = "all-reduces measured before";
  report.measurement = "gloo, 4 ranks, compute replayed";
  report.environment = {{"processor", "some"}, {"gloo", "1.2"}};
  auto& point = report.points[0];
  point.samples = {Seconds(4.75), Seconds(5), Seconds(5.25)};
  point.settled = false;
  point.buckets = {{point.predicted.buckets[0], {Seconds(1.25), Seconds(1.5), Seconds(2.5)}},
                   {point.predicted.buckets[1], {Seconds(2), Seconds(2.5), Seconds(3.2)}}};
  return report;
}

}  // namespace ddpsim::validate::test
