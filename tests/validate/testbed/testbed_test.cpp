// Real packets between real network namespaces; skipped where those cannot be made.
#include <cerrno>
#include <vector>

#include "validate/testbed/shaped_links.hpp"
#include <gmock/gmock.h>

#include "sim/base/statistics.hpp"

#include "tests/validate/testbed/on_testbed.hpp"

namespace ddpsim::validate::testing {
namespace {

using ::testing::HasSubstr;

constexpr BytesPerSecond kRate(25e6);

void send_bytes(const Descriptor& socket, std::size_t count) {
  std::vector<char> block(1 << 16);
  while (count > 0) {
    auto sent = send(socket.get(), block.data(), std::min(count, block.size()), MSG_NOSIGNAL);
    must(sent > 0, "send");
    count -= static_cast<std::size_t>(sent);
  }
}

void receive_bytes(const Descriptor& socket, std::size_t count) {
  std::vector<char> block(1 << 16);
  while (count > 0) {
    auto received = recv(socket.get(), block.data(), std::min(count, block.size()), 0);
    must(received > 0, "recv");
    count -= static_cast<std::size_t>(received);
  }
}

// What arrives over a connection that has found its rate, as a part of the payload's: of a few stretches the
// median.
double share_of_payload_rate(const RankNetwork& network) {
  constexpr std::size_t warm_up = 3'000'000, stretch = 1'000'000, stretches = 5;
  Connection connection(network, 0, 2);
  auto sending =
      std::async(std::launch::async, [&] { send_bytes(connection.client, warm_up + stretches * stretch); });
  receive_bytes(connection.server, warm_up);
  std::vector<double> shares;
  for (std::size_t i = 0; i < stretches; ++i) {
    auto start = now();
    receive_bytes(connection.server, stretch);
    shares.push_back((Bytes(stretch) / (now() - start)) / payload_rate(kRate));
  }
  sending.get();
  return median(shares);
}

Seconds shortest_round_trip(const RankNetwork& network) {
  Connection connection(network, 1, 0);
  Seconds shortest(1);
  for (int i = 0; i < 10; ++i) {
    auto start = now();
    send_bytes(connection.client, 1);
    receive_bytes(connection.server, 1);
    send_bytes(connection.server, 1);
    receive_bytes(connection.client, 1);
    shortest = std::min(shortest, now() - start);
  }
  return shortest;
}

// A unit of 65536 bytes is 68523.1 with headers; in 100 us 1250 bytes pass at 100 Mbit/s, 125000 at 10
// Gbit/s.
TEST(TokenBucketBurst, HoldsAUnitAndALateTimer) {
  EXPECT_EQ(token_bucket_burst(BytesPerSecond(12.5e6)), Bytes(69774));
  EXPECT_EQ(token_bucket_burst(BytesPerSecond(1.25e9)), Bytes(193524));
}

using Testbed = OnTestbed;

TEST_F(Testbed, LinksHaveTheirRate) {
  auto network = make_testbed(3, {kRate, std::nullopt});
  auto share = share_of_payload_rate(*network);
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 1.05);
  EXPECT_LT(shortest_round_trip(*network), Seconds(5e-3));
}

TEST_F(Testbed, LinksHaveTheirRateAndTheirDelay) {
  auto network = make_testbed(3, {kRate, Seconds(5e-3)});
  auto share = share_of_payload_rate(*network);
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 1.05);
  auto round_trip = shortest_round_trip(*network);
  EXPECT_GE(round_trip, Seconds(10e-3));
  EXPECT_LT(round_trip, Seconds(15e-3));
}

TEST_F(Testbed, RanksAreApart) {
  for (auto delay : {std::optional<Seconds>(), std::optional(Seconds(0))}) {
    auto network = make_testbed(2, {kRate, delay});
    auto listening = on_rank(*network, 0, [] { return listen_at("127.0.0.1"); }).get();
    auto reaches = [&](int rank) {
      return on_rank(*network, rank,
                     [] {
                       auto socket = tcp_socket();
                       return connect_to(socket, "127.0.0.1", kPort) ? 0 : errno;
                     })
          .get();
    };
    EXPECT_EQ(reaches(0), 0);
    EXPECT_EQ(reaches(1), ECONNREFUSED);
    // Nor is there a way out: 192.0.2.1 (RFC 5737) is nobody's.
    EXPECT_EQ(on_rank(*network, 0,
                      [] {
                        auto socket = tcp_socket();
                        return connect_to(socket, "192.0.2.1", kPort) ? 0 : errno;
                      })
                  .get(),
              ENETUNREACH);
  }
}

TEST_F(Testbed, SaysWhatItIs) {
  auto shaped = make_testbed(2, {kRate, std::nullopt});
  EXPECT_EQ(shaped->interface(), "eth0");
  EXPECT_EQ(shaped->address(0), "10.77.0.1");
  EXPECT_EQ(shaped->address(1), "10.77.0.2");
  EXPECT_THAT(shaped->describe(), HasSubstr("tbf 200 Mbit/s, burst 71.02 kB, TCP reno"));
  EXPECT_FALSE(shaped->enter(2));
  EXPECT_FALSE(shaped->enter(-1));
  auto delayed = make_testbed(2, {BytesPerSecond(1.25e9), Seconds(2e-3)});
  EXPECT_THAT(delayed->describe(), HasSubstr("forwarded in user space, 10 Gbit/s, delay 2 ms, TCP reno"));
}

}  // namespace
}  // namespace ddpsim::validate::testing
