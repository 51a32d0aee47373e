#pragma once
#include <initializer_list>
#include <random>

namespace ddpsim::testing {

// Draws without the standard library's distributions, which differ between implementations. One after the
// other in statements of their own: in which order arguments are worked out is the compiler's.
class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[random_() % choices.size()];
  }

 private:
  std::mt19937 random_;
};

}  // namespace ddpsim::testing
