#include "validate/testbed/namespace.hpp"

#include <filesystem>

#include "validate/testbed/network_tools.hpp"
#include <gmock/gmock.h>

#include "sim/base/program_exit.hpp"

#include "tests/validate/testbed/on_testbed.hpp"

namespace ddpsim::validate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Namespaces = OnTestbed;

std::string here() {
  return std::filesystem::read_symlink("/proc/thread-self/ns/net");
}

TEST_F(Namespaces, AreEnteredByTheThreadInsideOnly) {
  auto outside = here();
  Namespace first, second;
  std::string in_first, in_second;
  first.inside([&] { in_first = here(); });
  second.inside([&] { in_second = here(); });
  EXPECT_NE(in_first, outside);
  EXPECT_NE(in_second, outside);
  EXPECT_NE(in_first, in_second);
  EXPECT_EQ(here(), outside);
}

TEST_F(Namespaces, HaveSettingsOfTheirOwn) {
  Namespace one, other;
  auto setting = "ipv4/tcp_slow_start_after_idle";
  one.inside([&] { EXPECT_TRUE(write_setting(setting, "0")); });
  other.inside([&] { EXPECT_EQ(read_setting(setting), "1"); });
  one.inside([&] {
    EXPECT_EQ(read_setting(setting), "0");
    EXPECT_FALSE(write_setting("ipv4/no_such_setting", "0"));
    EXPECT_EQ(read_setting("ipv4/no_such_setting"), "");
  });
}

TEST_F(Namespaces, ACommandThatFailsComesWithItsComplaint) {
  Namespace empty;
  EXPECT_THAT([&] { empty.inside([] { run_ip("link set no_such_device up\n"); }); },
              ThrowsMessage<RunFailed>(AllOf(HasSubstr("the testbed cannot be set up: 'ip' failed"),
                                             HasSubstr("no_such_device"))));
  EXPECT_THAT([&] { empty.inside([] { run_tc("qdisc add dev lo root no_such_discipline\n"); }); },
              ThrowsMessage<RunFailed>(HasSubstr("'tc' failed")));
}

}  // namespace
}  // namespace ddpsim::validate::testing
