#pragma once
// How a job's iteration depends on what nobody measured, and what it takes in each draw of it.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/evidence/unknown.hpp"

namespace ddpsim {

// What an iteration takes at a few values of one quantity, others at their middles.
struct Curve {
  struct Point {
    double value;
    Seconds time;
    auto operator<=>(const Point&) const = default;
  };
  std::vector<Point> points;  // by value; at least two
  bool operator==(const Curve&) const = default;

  // On the straight lines between neighbours, and beyond the last ones on theirs.
  [[nodiscard]] Seconds at(double value) const;
};

struct Response {
  Seconds base;  // with everything at its middle
  // By what a quantity is in the response ("compute"); a factor without a curve is one on the whole
  // iteration. Ratios of several curves to the base multiply.
  std::map<std::string, Curve> curves = {};

  [[nodiscard]] Seconds at(const std::map<std::string, double>& values) const;
  // What the iteration takes at a value of one, over the base.
  [[nodiscard]] double ratio(const std::string& name, double value) const;
  bool operator==(const Response&) const = default;
};

// By what they are in the response.
using Unknowns = std::map<std::string, Unknown>;

// The iteration of every draw.
std::vector<Seconds> draws_of(const Response& response, const Unknowns& unknowns, std::size_t draws);
// The value of one in every draw.
const std::vector<double>& values_of(const Unknown& unknown, std::size_t draws);

}  // namespace ddpsim
