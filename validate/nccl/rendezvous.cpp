#include "validate/nccl/rendezvous.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "validate/nccl/socket.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "sim/base/output_file.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim::validate {
namespace {

constexpr Seconds kPatience(2);  // with a connection that may be none of ours

struct Hello {
  std::array<char, 16> magic{"ddpsim-nccl-1"};
  std::int32_t rank = 0, world_size = 0;
};

[[noreturn]] void fail(const Meeting& meeting, const std::string& what) {
  auto where = meeting.file.empty() ? fmt::format("port {}", meeting.port) : "file " + meeting.file;
  throw RunFailed(
      fmt::format("rank {}: rendezvous at {}, {}: {}", meeting.rank, meeting.address, where, what));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Null and getaddrinfo's error where there is none. `name` null: this machine, all of its addresses.
Addresses resolve(const char* name, int port, int flags, int& error) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  error = getaddrinfo(name, std::to_string(port).c_str(), &hints, &found);
  return {found, freeaddrinfo};
}

Socket make_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// At that address where it is a number. A name may mean 127.0.1.1 to its own machine and something else to
// the others: then at all addresses, those of IPv6 and IPv4.
Socket listen_for_others(const Meeting& meeting) {
  int error = 0;
  auto addresses = resolve(meeting.address.c_str(), meeting.port, AI_NUMERICHOST, error);
  if (!addresses) addresses = resolve(nullptr, meeting.port, AI_PASSIVE, error);
  for (int family : {AF_INET6, AF_INET}) {
    for (auto* one = addresses.get(); one != nullptr; one = one->ai_next) {
      if (one->ai_family != family) continue;
      auto socket = make_socket(family);
      int on = 1, off = 0;
      ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (family == AF_INET6) ::setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (::bind(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 &&
          ::listen(socket.descriptor(), SOMAXCONN) == 0)
        return socket;
    }
  }
  fail(meeting, fmt::format("rank 0 cannot listen there: {}", std::strerror(errno)));
}

void tell_port(const Socket& listener, const std::string& file) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&name), &size);
  auto port = name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(name).sin_port;
  write_whole_file(file, fmt::format("{}\n", ntohs(port)));
}

// 0: rank 0 has not come yet.
int port_of(const Meeting& meeting) {
  if (meeting.file.empty()) return meeting.port;
  int port = 0;
  std::ifstream(meeting.file) >> port;
  return port;
}

[[noreturn]] void fail_absent(const Meeting& meeting, const std::vector<Socket>& others) {
  std::vector<std::size_t> absent;
  for (std::size_t rank = 1; rank < others.size(); ++rank)
    if (!others[rank].open()) absent.push_back(rank);
  fail(meeting, fmt::format("rank {} did not come within {}", fmt::join(absent, ", "),
                            format_seconds(meeting.timeout)));
}

// The token goes out when all have come: whoever gets it knows that nobody is missing.
void give(const Meeting& meeting, const Token& token) {
  Deadline deadline(meeting.timeout);
  auto listener = listen_for_others(meeting);
  if (!meeting.file.empty()) tell_port(listener, meeting.file);
  std::vector<Socket> others(static_cast<std::size_t>(meeting.world_size));
  for (int missing = meeting.world_size - 1; missing > 0;) {
    if (deadline.passed() || !listener.ready(POLLIN, deadline)) fail_absent(meeting, others);
    Socket other(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    Hello hello;
    Deadline patience(std::min(kPatience, deadline.left()));
    if (!other.open() || !other.receive(&hello, sizeof hello, patience) || hello.magic != Hello{}.magic)
      continue;
    if (hello.world_size != meeting.world_size || hello.rank <= 0 || hello.rank >= meeting.world_size)
      fail(meeting, fmt::format("somebody came as rank {} of {}, but this run has {} ranks", hello.rank,
                                hello.world_size, meeting.world_size));
    auto& place = others[static_cast<std::size_t>(hello.rank)];
    if (place.open()) fail(meeting, fmt::format("two processes say that they are rank {}", hello.rank));
    place = std::move(other);
    --missing;
  }
  for (std::size_t rank = 1; rank < others.size(); ++rank)
    if (!others[rank].send(token.data(), token.size(), deadline))
      fail(meeting, fmt::format("rank {} came and left", rank));
}

// On loopback a socket can connect to itself, when the port it is given is the one it asks for.
bool connected_to_itself(const Socket& socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  ::getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&here), &here_size);
  ::getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&there), &there_size);
  return here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

// Closed where nobody answers; `why` then says so.
Socket try_to_connect(const Meeting& meeting, const Deadline& deadline, std::string& why) {
  int unknown = 0, port = port_of(meeting);
  if (port == 0) {
    why = "it has not come";
    return Socket();
  }
  auto addresses = resolve(meeting.address.c_str(), port, 0, unknown);
  if (unknown != 0) why = gai_strerror(unknown);
  for (auto* one = addresses.get(); one != nullptr; one = one->ai_next) {
    auto socket = make_socket(one->ai_family);
    int error = ::connect(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      error = ETIMEDOUT;
      if (socket.ready(POLLOUT, Deadline(std::min(kPatience, deadline.left()))))
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0 && connected_to_itself(socket)) error = ECONNREFUSED;
    if (error == 0) return socket;
    why = std::strerror(error);
  }
  return Socket();
}

Token take(const Meeting& meeting) {
  Deadline deadline(meeting.timeout);
  std::string why;
  for (;;) {
    if (auto socket = try_to_connect(meeting, deadline, why); socket.open()) {
      Hello hello{.rank = meeting.rank, .world_size = meeting.world_size};
      Token token;
      if (socket.send(&hello, sizeof hello, deadline) && socket.receive(token.data(), token.size(), deadline))
        return token;
      fail(meeting, deadline.passed() ? fmt::format("rank 0 answered, but not all ranks came within {}",
                                                    format_seconds(meeting.timeout))
                                      : std::string("rank 0 ended the connection before all ranks had come"));
    }
    if (deadline.passed())
      fail(meeting, fmt::format("rank 0 did not answer within {}: {}", format_seconds(meeting.timeout), why));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

Token meet(const Meeting& meeting, const Token& mine) {
  if (meeting.rank != 0) return take(meeting);
  if (meeting.world_size > 1) give(meeting, mine);
  return mine;
}

}  // namespace ddpsim::validate
