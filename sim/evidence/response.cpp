#include "sim/evidence/response.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// No draw makes a step shorter than this of it: a line that falls ends somewhere.
constexpr double kLeastPart = 0.05;

}  // namespace

Seconds Curve::at(double value) const {
  DDPSIM_CHECK(points.size() >= 2, "a curve has two points");
  auto above = std::ranges::upper_bound(points, value, {}, &Point::value);
  auto last = std::clamp(above - points.begin(), std::ptrdiff_t{1}, std::ssize(points) - 1);
  const auto& [x0, t0] = points[static_cast<std::size_t>(last - 1)];
  const auto& [x1, t1] = points[static_cast<std::size_t>(last)];
  return t0 + (value - x0) / (x1 - x0) * (t1 - t0);
}

Seconds Response::at(const std::map<std::string, double>& values) const {
  double factor = 1;
  for (const auto& [name, value] : values) {
    auto curve = curves.find(name);
    factor *= curve == curves.end() ? value : std::max(curve->second.at(value) / base, kLeastPart);
  }
  return factor * base;
}

std::vector<Seconds> draws_of(const Response& response, const Unknowns& unknowns, std::size_t draws) {
  std::map<std::string, std::vector<double>> columns;
  for (const auto& [role, unknown] : unknowns) columns[role] = column(unknown.name, draws);
  std::vector<Seconds> times;
  std::map<std::string, double> values;
  for (std::size_t i = 0; i < draws; ++i) {
    for (const auto& [role, unknown] : unknowns) values[role] = unknown.at(columns[role][i]);
    times.push_back(response.at(values));
  }
  return times;
}

}  // namespace ddpsim
