#pragma once
// A TCP connection that does not block, closed with the object.
#include <cstddef>
#include <utility>

#include "validate/nccl/deadline.hpp"
#include <unistd.h>

namespace ddpsim::validate {

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool open() const { return descriptor_ >= 0; }

  // Whether that (POLLIN, POLLOUT) is possible before the deadline, or the connection has failed.
  [[nodiscard]] bool ready(short what, const Deadline& deadline) const;
  // Whether all of it came or went before the deadline.
  [[nodiscard]] bool receive(void* data, std::size_t size, const Deadline& deadline) const;
  [[nodiscard]] bool send(const void* data, std::size_t size, const Deadline& deadline) const;

 private:
  int descriptor_;
};

}  // namespace ddpsim::validate
