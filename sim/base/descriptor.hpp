#pragma once
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace ddpsim {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }
  // Whoever gets the number closes it.
  [[nodiscard]] int release() && { return std::exchange(number_, -1); }
  // The same file under a number that is none of the three standard ones, which a child gets anew.
  [[nodiscard]] Descriptor above_standard() && {
    if (number_ < 0 || number_ > STDERR_FILENO) return std::move(*this);
    return Descriptor(fcntl(number_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }

 private:
  int number_;
};

}  // namespace ddpsim
