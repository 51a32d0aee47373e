#include "sim/evidence/response.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// No draw makes a step shorter than this of it: a line that falls ends somewhere.
constexpr double kLeastPart = 0.05;

}  // namespace

// Kept, because the points of a study mostly have the same unknowns.
const std::vector<double>& values_of(const Unknown& unknown, std::size_t draws) {
  constexpr std::size_t kMostKept = 64;
  thread_local std::map<std::pair<std::size_t, Unknown>, std::vector<double>> kept;
  if (kept.size() > kMostKept) kept.clear();
  auto [found, is_new] = kept.try_emplace({draws, unknown});
  if (is_new)
    for (double uniform : column(unknown.name, draws)) found->second.push_back(unknown.at(uniform));
  return found->second;
}

Seconds Curve::at(double value) const {
  DDPSIM_CHECK(points.size() >= 2, "a curve has two points");
  auto above = std::ranges::upper_bound(points, value, {}, &Point::value);
  auto last = std::clamp(above - points.begin(), std::ptrdiff_t{1}, std::ssize(points) - 1);
  const auto& [x0, t0] = points[static_cast<std::size_t>(last - 1)];
  const auto& [x1, t1] = points[static_cast<std::size_t>(last)];
  return t0 + (value - x0) / (x1 - x0) * (t1 - t0);
}

double Response::ratio(const std::string& name, double value) const {
  auto curve = curves.find(name);
  return curve == curves.end() ? value : std::max(curve->second.at(value) / base, kLeastPart);
}

Seconds Response::at(const std::map<std::string, double>& values) const {
  double factor = 1;
  for (const auto& [name, value] : values) factor *= ratio(name, value);
  return factor * base;
}

std::vector<Seconds> draws_of(const Response& response, const Unknowns& unknowns, std::size_t draws) {
  std::vector<double> factors(draws, 1);
  for (const auto& [role, unknown] : unknowns) {
    const auto& values = values_of(unknown, draws);
    for (std::size_t i = 0; i < draws; ++i) factors[i] *= response.ratio(role, values[i]);
  }
  std::vector<Seconds> times;
  times.reserve(draws);
  for (double factor : factors) times.push_back(factor * response.base);
  return times;
}

}  // namespace ddpsim
