#pragma once
// Tests that need a testbed, and TCP connections inside one.
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>

#include "validate/testbed/namespace.hpp"
#include "validate/testbed/testbed.hpp"
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sim/base/backend_missing.hpp"

namespace ddpsim::validate::testing {

// Skips where no testbed can be made.
class OnTestbed : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      require_testbed({BytesPerSecond(25e6), Seconds(0)});
    } catch (const BackendMissing& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
};

// `work`'s result, in a thread that lives where the rank does; join with get().
template <class Work>
auto on_rank(const RankNetwork& network, int rank, Work work) {
  return std::async(std::launch::async, [&network, rank, work] {
    if (!network.enter(rank)) throw std::runtime_error("cannot enter the namespace");
    return work();
  });
}

inline void must(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

inline Seconds now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

inline sockaddr_in socket_address(const std::string& address, int port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  must(inet_pton(AF_INET, address.c_str(), &result.sin_addr) == 1, "an address");
  return result;
}

// A TCP socket that gives up after 10 s instead of hanging.
inline Descriptor tcp_socket() {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval patience{10, 0};
  int yes = 1;
  must(made && setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0,
       "a socket");
  return made;
}

inline bool connect_to(const Descriptor& socket, const std::string& address, int port) {
  auto target = socket_address(address, port);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0;
}

constexpr int kPort = 5000;

inline Descriptor listen_at(const std::string& address) {
  auto socket = tcp_socket();
  auto own = socket_address(address, kPort);
  must(bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "bind");
  must(listen(socket.get(), 1) == 0, "listen");
  return socket;
}

// A connection from one rank to another.
struct Connection {
  Connection(const RankNetwork& network, int from, int to) {
    auto address = network.address(to);
    auto listening = on_rank(network, to, [&] { return listen_at(address); }).get();
    client = on_rank(network, from, [&] {
               auto socket = tcp_socket();
               must(connect_to(socket, address, kPort), "connect");
               return socket;
             }).get();
    server = Descriptor(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    must(static_cast<bool>(server), "accept");
  }
  Descriptor client, server;
};

}  // namespace ddpsim::validate::testing
