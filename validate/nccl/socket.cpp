#include "validate/nccl/socket.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace ddpsim::validate {
namespace {

// Calls `some(bytes done)` until `size` bytes are, as soon as `what` is possible.
template <class Some>
bool transfer(const Socket& socket, short what, std::size_t size, const Deadline& deadline, Some some) {
  for (std::size_t done = 0; done < size;) {
    if (!socket.ready(what, deadline)) return false;
    auto n = some(done);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bool Socket::ready(short what, const Deadline& deadline) const {
  pollfd one{descriptor_, what, 0};
  int n = 0;
  do {
    n = ::poll(&one, 1, deadline.milliseconds_left());
  } while (n < 0 && errno == EINTR);
  return n == 1;
}

bool Socket::receive(void* data, std::size_t size, const Deadline& deadline) const {
  return transfer(*this, POLLIN, size, deadline, [&](std::size_t done) {
    return ::recv(descriptor_, static_cast<char*>(data) + done, size - done, 0);
  });
}

bool Socket::send(const void* data, std::size_t size, const Deadline& deadline) const {
  return transfer(*this, POLLOUT, size, deadline, [&](std::size_t done) {
    return ::send(descriptor_, static_cast<const char*>(data) + done, size - done, MSG_NOSIGNAL);
  });
}

}  // namespace ddpsim::validate
