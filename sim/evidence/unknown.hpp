#pragma once
// A number that a prediction rests on and nobody measured for its job, what is known of it, and draws of it.
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct Unknown {
  // A state that it may be in, with its chance: a normal distribution.
  struct State {
    double chance = 1, middle = 0, sigma = 0;
    auto operator<=>(const State&) const = default;
  };
  // factor: on a time, of which the states are logarithms (measured / predicted); level: a value that is not
  // below 0.
  enum class Kind { factor, level };

  std::string name;  // of what is drawn once and shared: alternatives with one name have the same draws
  std::vector<State> states;  // by middle; mostly one
  Kind kind = Kind::factor;
  bool is_heavy = false;  // Student's t with four degrees of freedom in place of each normal
  int families = 0;       // independent sources behind it; 0: declared, nothing measured it

  auto operator<=>(const Unknown&) const = default;

  // In the draw with that number between 0 and 1.
  [[nodiscard]] double at(double uniform) const;
};

inline constexpr double kStudentDegrees = 4;
// Quantiles of the normal distribution and of Student's t with four degrees of freedom.
double normal_quantile(double uniform);
double student_quantile(double uniform);

// `draws` numbers between 0 and 1, one in each part of as many equal ones (McKay, Beckman and Conover,
// "A comparison of three methods for selecting values of input variables", 1979), in an order that hangs on
// the name: the same whatever else is drawn.
std::vector<double> column(std::string_view name, std::size_t draws, std::uint64_t seed = 1);

}  // namespace ddpsim
