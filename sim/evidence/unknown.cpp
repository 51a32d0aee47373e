#include "sim/evidence/unknown.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// FNV-1a (RFC draft-eastlake-fnv): the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace

double normal_quantile(double uniform) {
  return boost::math::quantile(boost::math::normal(), uniform);
}

double student_quantile(double uniform) {
  return boost::math::quantile(boost::math::students_t(kStudentDegrees), uniform);
}

double Unknown::at(double uniform) const {
  DDPSIM_CHECK(!states.empty() && uniform > 0 && uniform < 1, "a quantity has a state, a draw is within");
  std::size_t which = 0;
  for (; which + 1 < states.size() && uniform >= states[which].chance; ++which)
    uniform -= states[which].chance;
  const auto& state = states[which];
  // What is left of the number says where within the state.
  constexpr double kLeast = 1e-12;
  double within = std::clamp(uniform / state.chance, kLeast, 1 - kLeast);
  double value = state.middle + state.sigma * (is_heavy ? student_quantile(within) : normal_quantile(within));
  return kind == Kind::factor ? std::exp(value) : std::max(0.0, value);
}

std::vector<double> column(std::string_view name, std::size_t draws, std::uint64_t seed) {
  auto hash = hash_of(name);
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                         static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32U)};
  boost::random::mt19937_64 random(sequence);
  boost::random::uniform_real_distribution<double> within(0, 1);
  std::vector<double> numbers(draws);
  for (std::size_t i = 0; i < draws; ++i)
    numbers[i] = (static_cast<double>(i) + within(random)) / static_cast<double>(draws);
  for (std::size_t i = draws; i > 1; --i) {
    boost::random::uniform_int_distribution<std::size_t> other(0, i - 1);
    std::swap(numbers[i - 1], numbers[other(random)]);
  }
  return numbers;
}

}  // namespace ddpsim
