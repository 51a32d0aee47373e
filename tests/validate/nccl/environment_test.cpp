// What a rank finds, and what it tells NCCL. Each test is a process of its own: variables are set once.
#include <cstdlib>

#include "validate/harness/virtual_device.hpp"
#include "validate/nccl/nccl_variables.hpp"
#include "validate/nccl/rendezvous.hpp"

#include "sim/base/backend_missing.hpp"

#include "tests/support/errors.hpp"
#include "tests/validate/nccl/ranks.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StrEq;
using validate::choose_gpu;
using validate::NcclBackend;

class NcclEnvironmentTest : public NcclTest {};

TEST_F(NcclEnvironmentTest, WhatItWasMeasuredOn) {
  ::setenv("NCCL_ALGO", "Ring", 1);
  on_ranks(1, [](NcclBackend& backend) {
    auto found = backend.environment();
    EXPECT_EQ(found.front(), std::pair(std::string("gpu"), std::string(validate::kVirtualDevice)));
    EXPECT_THAT(found, Contains(Pair("nccl", "2.28.9")));
    EXPECT_THAT(found, Contains(Pair("cuda runtime", "13.0")));
    EXPECT_THAT(found, Contains(Pair("cuda driver", "for 13.1")));
    EXPECT_THAT(found, Contains(Pair("gpu peak clock", "1980 MHz")));
    EXPECT_THAT(found, Contains(Pair("NCCL_ALGO", "Ring")));
    EXPECT_THAT(found, ::testing::Not(Contains(Pair("shared gpu", ::testing::_))));
  });
}

std::string missing(const validate::RankPlace& place) {
  try {
    choose_gpu(place);
  } catch (const BackendMissing& error) {
    return error.what();
  }
  return "nothing is missing";
}

TEST_F(NcclEnvironmentTest, AGpuForEachLocalRank) {
  EXPECT_EQ(choose_gpu(place_of(0, 2)), 0);
  EXPECT_EQ(choose_gpu(place_of(1, 2)), 1);
  EXPECT_THAT(missing(place_of(2, 3)),
              HasSubstr("rank 2: GPU 2 was looked for, for local rank 2, but this machine shows 2"));
}

TEST_F(NcclEnvironmentTest, TheOneGpuThatAProcessIsShown) {
  FakeGpu::get().devices = 1;
  auto place = place_of(1, 2);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(missing(place), HasSubstr("shows 1"));
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_THAT(missing(place), HasSubstr("shows 1"));  // two ranks here
  place.ranks_here = 1;
  EXPECT_EQ(choose_gpu(place), 0);
}

TEST_F(NcclEnvironmentTest, NoGpu) {
  FakeGpu::get().devices = 0;
  EXPECT_THAT(missing(place_of(0, 1)),
              HasSubstr("rank 0: no CUDA GPU was found: cudaGetDeviceCount says '0 devices'"));
  for (auto error : {cudaErrorInsufficientDriver, cudaErrorNoDevice}) {
    FakeGpu::get().fail("cudaGetDeviceCount", error);
    EXPECT_THAT(
        missing(place_of(3, 4)),
        HasSubstr("rank 3: no CUDA GPU was found: cudaGetDeviceCount says 'an error of the test'\nhint: "));
  }
}

TEST_F(NcclEnvironmentTest, TheInterfaceUnlessTheUserNamesOne) {
  ::unsetenv("NCCL_SOCKET_IFNAME");
  ::unsetenv("NCCL_HOSTID");
  auto place = place_of(0, 1);
  place.interface = "eth7";
  validate::set_nccl_variables(place);
  EXPECT_THAT(std::getenv("NCCL_SOCKET_IFNAME"), StrEq("=eth7"));
  EXPECT_EQ(std::getenv("NCCL_HOSTID"), nullptr);
}

TEST_F(NcclEnvironmentTest, TheUsersInterfaceStays) {
  ::setenv("NCCL_SOCKET_IFNAME", "ib0", 1);
  auto place = place_of(0, 1);
  place.interface = "eth7";
  validate::set_nccl_variables(place);
  EXPECT_THAT(std::getenv("NCCL_SOCKET_IFNAME"), StrEq("ib0"));
}

TEST_F(NcclEnvironmentTest, ASharedGpu) {
  FakeGpu::get().devices = 1;
  ::setenv("DDPSIM_SHARE_GPU", "1", 1);
  EXPECT_THAT(input_error([] { validate::set_nccl_variables(place_of(1, 2)); }),
              HasSubstr("a process for each rank"));
  auto place = place_of(5, 6);
  place.ranks_here = 1;
  EXPECT_EQ(choose_gpu(place), 0);
  validate::set_nccl_variables(place);
  EXPECT_THAT(std::getenv("NCCL_HOSTID"), StrEq("ddpsim-rank-5"));
  EXPECT_THAT(std::getenv("NCCL_NET"), StrEq("Socket"));
  EXPECT_THAT(std::getenv("NCCL_SOCKET_IFNAME"), StrEq("=lo"));
  EXPECT_THAT(std::getenv("NCCL_P2P_DISABLE"), StrEq("1"));
  EXPECT_THAT(std::getenv("NCCL_SHM_DISABLE"), StrEq("1"));
  on_ranks(1, [](NcclBackend& backend) {
    EXPECT_THAT(backend.environment(), Contains(Pair("shared gpu", HasSubstr("mean nothing"))));
  });
}

TEST_F(NcclEnvironmentTest, ASharedGpuIsAskedForClearly) {
  ::setenv("DDPSIM_SHARE_GPU", "yes", 1);
  EXPECT_THAT(input_error([] { choose_gpu(place_of(0, 1)); }), HasSubstr("DDPSIM_SHARE_GPU is 'yes'"));
}

// torchrun's own store listens at MASTER_PORT.
TEST_F(NcclEnvironmentTest, UnderTorchrunThePortIsTheNext) {
  ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  auto errors = in_threads(2, [](int rank) {
    if (rank == 0)
      NcclBackend backend(place_of(0, 2), Seconds(0.5));
    else
      validate::meet({1, 2, own_address(), kPort + 1, Seconds(20)}, {});
  });
  EXPECT_THAT(errors[0], HasSubstr("ncclCommInitRankConfig"));  // met, but the other did not go on
  EXPECT_EQ(errors[1], "");
}

}  // namespace
}  // namespace ddpsim::testing
