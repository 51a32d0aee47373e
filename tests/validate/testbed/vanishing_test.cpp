// Nothing of a testbed outlives it.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/validate/testbed/on_testbed.hpp"

namespace ddpsim::validate::testing {
namespace {

constexpr int kRanks = 3;
using Cookie = std::uint64_t;  // a namespace's; unlike its inode never used twice
using Cookies = std::array<Cookie, kRanks>;

Cookie cookie_here() {
  Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Cookie cookie = 0;
  socklen_t size = sizeof cookie;
  must(getsockopt(any.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0, "SO_NETNS_COOKIE");
  return cookie;
}

Cookies cookies_of(const RankNetwork& network) {
  Cookies cookies{};
  for (int rank = 0; rank < kRanks; ++rank)
    cookies[static_cast<std::size_t>(rank)] = on_rank(network, rank, cookie_here).get();
  return cookies;
}

// Of the network namespaces that any process is in or has open.
std::set<Cookie> living_cookies() {
  namespace fs = std::filesystem;
  std::set<Cookie> living;
  std::set<std::string> seen;
  auto visit = [&](const fs::path& path) {
    std::error_code gone;
    auto inode = fs::read_symlink(path, gone).string();
    if (gone || !inode.starts_with("net:[") || seen.count(inode) > 0) return;
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    std::thread([&] {
      if (setns(file.get(), CLONE_NEWNET) == 0) living.insert(cookie_here());
    }).join();
    seen.insert(inode);
  };
  for (const auto& process : fs::directory_iterator("/proc")) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    visit(process.path() / "ns/net");
    std::error_code gone;
    for (fs::directory_iterator file(process.path() / "fd", gone), end; !gone && file != end;
         file.increment(gone))
      visit(file->path());
  }
  return living;
}

int count_living(const Cookies& cookies) {
  auto living = living_cookies();
  int count = 0;
  for (auto cookie : cookies) count += static_cast<int>(living.count(cookie));
  return count;
}

// Processes need a moment to go, and another test may be looking into a namespace.
bool vanish(const Cookies& cookies) {
  for (int i = 0; i < 500; ++i) {
    if (count_living(cookies) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::set<std::string> named_namespaces() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/var/run/netns", none))
    names.insert(entry.path().filename());
  return names;
}

class Vanishing : public OnTestbed, public ::testing::WithParamInterface<bool> {
 protected:
  [[nodiscard]] static std::unique_ptr<RankNetwork> make() {
    bool is_delayed = GetParam();
    return make_testbed(kRanks,
                        {BytesPerSecond(25e6), is_delayed ? std::optional(Seconds(1e-3)) : std::nullopt});
  }
};

TEST_P(Vanishing, LeavesNothingBehind) {
  auto names = named_namespaces();
  auto network = make();
  auto cookies = cookies_of(*network);
  EXPECT_EQ(named_namespaces(), names);
  EXPECT_EQ(count_living(cookies), kRanks);
  network.reset();
  EXPECT_TRUE(vanish(cookies));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child process is left";
}

TEST_P(Vanishing, LeavesNothingBehindWhenKilled) {
  std::array<int, 2> channel{};
  ASSERT_EQ(pipe2(channel.data(), O_CLOEXEC), 0);
  Descriptor reading(channel[0]), writing(channel[1]);
  auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto network = make();
    auto cookies = cookies_of(*network);
    if (write(writing.get(), cookies.data(), sizeof cookies) != sizeof cookies) _exit(1);
    for (;;) pause();
  }
  writing = Descriptor();
  Cookies cookies{};
  auto received = read(reading.get(), cookies.data(), sizeof cookies);
  auto living = received == sizeof cookies ? count_living(cookies) : 0;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_EQ(living, kRanks);
  EXPECT_TRUE(vanish(cookies));
}

INSTANTIATE_TEST_SUITE_P(Testbeds, Vanishing, ::testing::Bool(),
                         [](const auto& about) { return about.param ? "Delayed" : "Shaped"; });

}  // namespace
}  // namespace ddpsim::validate::testing
