#include <cstdlib>
#include <thread>

#include "validate/testbed/testbed.hpp"
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const TestbedOptions kOptions{BytesPerSecond(25e6), std::nullopt};

TEST(RequireTestbed, SaysThatItTakesRoot) {
  std::thread([] {
    constexpr long nobody = 65534;
    // The system call itself gives up root in this thread alone; who is not root needs not.
    ASSERT_TRUE(geteuid() != 0 || syscall(SYS_setresuid, nobody, nobody, nobody) == 0);
    EXPECT_THAT([] { require_testbed(kOptions); }, ThrowsMessage<BackendMissing>(HasSubstr("takes root")));
    EXPECT_THAT([] { make_testbed(2, kOptions); }, ThrowsMessage<BackendMissing>(HasSubstr("takes root")));
  }).join();
}

TEST(RequireTestbed, NamesTheProgramThatIsMissing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gets as far as the programs";
  testing::TemporaryFolder empty;
  setenv("PATH", empty.path("").c_str(), 1);
  EXPECT_THAT([] { require_testbed(kOptions); },
              ThrowsMessage<BackendMissing>("a testbed's links are made by 'ip', which is not installed\n"
                                            "hint: on Debian or Ubuntu: apt-get install iproute2"));
}

TEST(MakeTestbed, RefusesMoreRanksThanItHasAddresses) {
  EXPECT_EQ(testing::input_error([] { make_testbed(251, kOptions); }),
            "error: a testbed of 251 ranks is too large\n"
            "hint: take at most 250");
}

}  // namespace
}  // namespace ddpsim::validate
