#include "sim/calibrate/judge.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::calibrate {
namespace {

double signed_error(const JudgedPoint& point) {
  return std::log(point.measured / point.predicted);
}

// The standard deviation that the middle half of the errors would belong to, and at least 5 %.
double robust_deviation(const std::vector<JudgedPoint>& points) {
  std::vector<double> errors;
  for (const auto& point : points) errors.push_back(signed_error(point));
  double center = median(errors);
  for (double& error : errors) error = std::abs(error - center);
  return std::max(0.05, 1.4826 * median(errors));
}

std::string doubt_of(const Point& point, const Point* larger, double error, double deviation) {
  if (std::abs(error) > 3 * deviation)
    return fmt::format("{:.0f} % {} than the others let expect", 100 * std::expm1(std::abs(error)),
                       error > 0 ? "slower" : "faster");
  if (point.places_ratio && std::abs(std::log(*point.places_ratio)) > std::log(1.3))
    return fmt::format("out of place it took {:.2f} times as long as in place", *point.places_ratio);
  if (larger && larger->measured < 0.97 * point.measured) return "a larger message took less";
  return {};
}

}  // namespace

double JudgedPoint::error() const {
  return std::abs(signed_error(*this));
}

Judgement judge(const std::vector<Point>& points, const std::function<Seconds(Bytes)>& time) {
  DDPSIM_CHECK(!points.empty(), "something to judge by");
  Judgement judgement;
  for (const auto& point : points)
    judgement.points.push_back({point.bytes, point.measured, time(point.bytes), point.span, {}});
  double deviation = robust_deviation(judgement.points);
  double sum = 0, worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto& judged = judgement.points[i];
    const Point* larger = i + 1 < points.size() ? &points[i + 1] : nullptr;
    judged.doubt = doubt_of(points[i], larger, signed_error(judged), deviation);
    sum += judged.error();
    worst = std::max(worst, judged.error());
  }
  judgement.mean = std::expm1(sum / static_cast<double>(points.size()));
  judgement.worst = std::expm1(worst);
  return judgement;
}

}  // namespace ddpsim::calibrate
