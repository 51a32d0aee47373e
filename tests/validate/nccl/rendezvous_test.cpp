#include "validate/nccl/rendezvous.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/validate/nccl/ranks.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using validate::meet;
using validate::Meeting;
using validate::Token;

Token token_of(char letter) {
  Token token;
  token.fill(letter);
  return token;
}

Meeting meeting_of(int rank, int world_size, Seconds timeout) {
  return {rank, world_size, own_address(), kPort, timeout};
}

std::string prefix(int rank) {
  return fmt::format("rank {}: rendezvous at {}, port {}: ", rank, own_address(), kPort);
}

// Once somebody listens. It stays open as long as the object.
class Connection {
 public:
  explicit Connection(const std::string& text) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kPort);
    ::inet_pton(AF_INET, own_address().c_str(), &address.sin_addr);
    while (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      std::this_thread::yield();
    EXPECT_EQ(::send(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  ~Connection() { ::close(fd_); }

 private:
  int fd_;
};

// Rank 0 comes last: the others wait for the file.
TEST(Rendezvous, ByAFile) {
  TemporaryFolder folder;
  std::vector<Token> tokens(3);
  auto errors = in_threads(3, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    tokens[static_cast<std::size_t>(rank)] =
        meet({rank, 3, own_address(), 0, Seconds(20), folder.path("meeting")},
             token_of(static_cast<char>('a' + rank)));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_THAT(tokens, Each(token_of('a')));
}

TEST(Rendezvous, ByAFileThatNobodyWrites) {
  TemporaryFolder folder;
  EXPECT_THAT(
      in_threads(1,
                 [&](int) {
                   meet({1, 2, own_address(), 0, Seconds(0.2), folder.path("meeting")}, token_of('b'));
                 })
          .front(),
      AllOf(HasSubstr("rank 1: rendezvous at " + own_address() + ", file "),
            HasSubstr("rank 0 did not answer within 200 ms: it has not come")));
}

TEST(Rendezvous, AllGetRank0sToken) {
  std::vector<Token> tokens(5);
  EXPECT_THAT(in_threads(5,
                         [&](int rank) {
                           tokens[static_cast<std::size_t>(rank)] = meet(
                               meeting_of(rank, 5, Seconds(20)), token_of(static_cast<char>('a' + rank)));
                         }),
              Each(IsEmpty()));
  EXPECT_THAT(tokens, Each(token_of('a')));
}

TEST(Rendezvous, OneRankMeetsNobody) {
  EXPECT_EQ(meet({0, 1, "no address at all", -1, Seconds(0)}, token_of('x')), token_of('x'));
}

TEST(Rendezvous, ComingEarlyIsFine) {
  EXPECT_THAT(in_threads(2,
                         [&](int rank) {
                           if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
                           EXPECT_EQ(meet(meeting_of(rank, 2, Seconds(20)), token_of('a')), token_of('a'));
                         }),
              Each(IsEmpty()));
}

TEST(Rendezvous, NamesWhoIsMissing) {
  auto errors = in_threads(
      2, [](int rank) { meet(meeting_of(rank, 4, Seconds(rank == 0 ? 0.3 : 20)), token_of('a')); });
  EXPECT_EQ(errors[0], prefix(0) + "rank 2, 3 did not come within 300 ms");
  EXPECT_EQ(errors[1], prefix(1) + "rank 0 ended the connection before all ranks had come");
}

TEST(Rendezvous, Rank0IsMissing) {
  auto errors = in_threads(2, [](int rank) {
    if (rank == 1) meet(meeting_of(1, 2, Seconds(0.2)), {});
  });
  EXPECT_EQ(errors[1], prefix(1) + "rank 0 did not answer within 200 ms: Connection refused");
}

TEST(Rendezvous, WaitsNoLongerThanItsOwnTime) {
  auto errors = in_threads(
      2, [](int rank) { meet(meeting_of(rank, 3, Seconds(rank == 0 ? 1.5 : 0.5)), token_of('a')); });
  EXPECT_EQ(errors[0], prefix(0) + "rank 2 did not come within 1.5 s");
  EXPECT_EQ(errors[1], prefix(1) + "rank 0 answered, but not all ranks came within 500 ms");
}

TEST(Rendezvous, OthersConnectionsAreIgnored) {
  std::vector<Token> tokens(2);
  EXPECT_THAT(in_threads(3,
                         [&](int rank) {
                           if (rank == 2) return;
                           if (rank == 1) {
                             Connection(std::string("GET / HTTP/1.1\r\nHost: somebody else\r\n\r\n"));
                             Connection{std::string("ddp")};
                             Connection{std::string(10000, '\0')};
                           }
                           tokens[static_cast<std::size_t>(rank)] =
                               meet(meeting_of(rank, 2, Seconds(20)), token_of('a'));
                         }),
              Each(IsEmpty()));
  EXPECT_THAT(tokens, Each(token_of('a')));
}

TEST(Rendezvous, ASilentConnectionDelaysButDoesNotStop) {
  EXPECT_THAT(in_threads(2,
                         [&](int rank) {
                           if (rank == 0) {
                             meet(meeting_of(0, 2, Seconds(20)), token_of('a'));
                           } else {
                             Connection silent("");
                             EXPECT_EQ(meet(meeting_of(1, 2, Seconds(20)), {}), token_of('a'));
                           }
                         }),
              Each(IsEmpty()));
}

TEST(Rendezvous, AnotherWorldSize) {
  auto errors =
      in_threads(2, [](int rank) { meet(meeting_of(rank, rank == 0 ? 2 : 7, Seconds(20)), token_of('a')); });
  EXPECT_EQ(errors[0], prefix(0) + "somebody came as rank 1 of 7, but this run has 2 ranks");
  EXPECT_THAT(errors[1], HasSubstr("ended the connection"));
}

TEST(Rendezvous, TheSameRankTwice) {
  auto errors =
      in_threads(3, [](int rank) { meet(meeting_of(std::min(rank, 1), 3, Seconds(20)), token_of('a')); });
  EXPECT_EQ(errors[0], prefix(0) + "two processes say that they are rank 1");
}

// The name of a machine means 127.0.1.1 to Debian on that machine.
TEST(Rendezvous, ANameIsListenedForAtAllAddresses) {
  int port = 20000 + ::getpid() % 10000;
  EXPECT_THAT(
      in_threads(4,
                 [&](int rank) {
                   const char* names[] = {"localhost", "localhost", "127.0.0.1", "127.0.1.1"};
                   EXPECT_EQ(meet({rank, 4, names[rank], port, Seconds(20)}, token_of('a')), token_of('a'));
                 }),
      Each(IsEmpty()));
}

TEST(Rendezvous, AnAddressOfAnotherMachine) {
  auto errors = in_threads(1, [](int) { meet({0, 2, "192.0.2.1", kPort, Seconds(20)}, {}); });
  EXPECT_EQ(errors[0],
            "rank 0: rendezvous at 192.0.2.1, port 29500: rank 0 cannot listen there: Cannot assign "
            "requested address");
}

}  // namespace
}  // namespace ddpsim::testing
