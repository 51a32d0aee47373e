#include <gtest/gtest.h>

#include "sim/topology/topology.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

Topology read(const std::string& text) {
  testing::TemporaryFolder folder;
  return read_topology(folder.write("ring.yaml", text));
}

void expect_link(const Link& link, double bandwidth, double latency) {
  EXPECT_DOUBLE_EQ(link.bandwidth.value(), bandwidth);
  EXPECT_DOUBLE_EQ(link.latency.value(), latency);
}

constexpr const char* kRing = "kind: ring\nlink: {bandwidth: 100Gbps, latency: 5us}\n";

// 100 Gbit/s are 100e9 / 8 = 12.5e9 bytes a second.
TEST(Ring, TheSameLinkEverywhere) {
  auto topology = read(kRing);
  for (int n : {2, 3, 1024}) {
    auto links = topology.ring_links(n);
    ASSERT_EQ(links.size(), static_cast<std::size_t>(n));
    for (const auto& link : links) expect_link(link, 12.5e9, 5e-6);
  }
}

TEST(Ring, AnOverrideChangesWhatItNames) {
  auto links = read(std::string(kRing) +
                    "overrides:\n"
                    "  - {from: 2, bandwidth: 6GB/s}\n"
                    "  - {from: 0, latency: 50us}\n"
                    "  - {from: 3, bandwidth: 1GB/s, latency: 1ms}\n")
                   .ring_links(5);
  ASSERT_EQ(links.size(), 5U);
  expect_link(links[0], 12.5e9, 50e-6);
  expect_link(links[1], 12.5e9, 5e-6);
  expect_link(links[2], 6e9, 5e-6);
  expect_link(links[3], 1e9, 1e-3);
  expect_link(links[4], 12.5e9, 5e-6);
}

TEST(Ring, NoOverridesAndNoLatency) {
  auto links = read("kind: ring\nlink: {bandwidth: 1B/s, latency: 0s}\noverrides: []\n").ring_links(2);
  expect_link(links.at(1), 1, 0);
}

// The last rank's link closes the ring; the world may be larger than the overridden ranks, not smaller.
TEST(Ring, AnOverrideOutsideTheWorld) {
  testing::TemporaryFolder folder;
  auto topology = read_topology(
      folder.write("ring.yaml", std::string(kRing) + "overrides:\n  - {from: 3, bandwidth: 6GB/s}\n"));
  expect_link(topology.ring_links(4).at(3), 6e9, 5e-6);
  EXPECT_EQ(folder.without_folder(testing::input_error([&] { (void)topology.ring_links(3); })),
            "ring.yaml:4:5: error: a ring of 3 ranks has no rank 3\n"
            "  4 |   - {from: 3, bandwidth: 6GB/s}\n"
            "    |     ^\n"
            "hint: its last rank is 2");
}

// The file that comes with the program: a port of 100 Gbit/s for each GPU.
TEST(Ring, TheTopologyOfThisRepository) {
  auto topology = read_topology(DDPSIM_SOURCE_DIR "/topologies/ring-100gbps.yaml");
  expect_link(topology.ring_links(8).at(7), 12.5e9, 5e-6);
}

}  // namespace
}  // namespace ddpsim
