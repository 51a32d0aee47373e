// Every way in which a ring file can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"
#include "sim/topology/topology.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

std::string error_of(const std::string& text) {
  testing::TemporaryFolder folder;
  auto path = folder.write("ring.yaml", text);
  return folder.without_folder(testing::input_error([&] { read_topology(path); }));
}

std::string link_error(const std::string& link) {
  return error_of("kind: ring\nlink: " + link + "\n");
}

std::string override_error(const std::string& overrides) {
  return error_of("kind: ring\nlink: {bandwidth: 12.5GB/s, latency: 5us}\noverrides: " + overrides + "\n");
}

TEST(RingErrors, MissingFile) {
  testing::TemporaryFolder folder;
  auto message = testing::input_error([&] { read_topology(folder.path("none.yaml")); });
  EXPECT_EQ(folder.without_folder(message),
            "none.yaml: error: no such file (expected a topology)\n"
            "hint: check the path");
}

TEST(RingErrors, Kind) {
  EXPECT_EQ(error_of("link: {bandwidth: 1GB/s, latency: 5us}\n"),
            "ring.yaml:1:1: error: 'topology' lacks the key 'kind'\n"
            "  1 | link: {bandwidth: 1GB/s, latency: 5us}\n"
            "    | ^\n"
            "hint: add 'kind: ...'");
  EXPECT_EQ(error_of("kind: rings\n"),
            "ring.yaml:1:7: error: unknown value 'rings'; did you mean 'ring'?\n"
            "  1 | kind: rings\n"
            "    |       ^~~~~\n"
            "hint: one of ring, cluster, graph");
}

TEST(RingErrors, NoLink) {
  EXPECT_EQ(error_of("kind: ring\n"),
            "ring.yaml:1:1: error: 'topology' lacks the key 'link'\n"
            "  1 | kind: ring\n"
            "    | ^\n"
            "hint: add 'link: ...'");
  EXPECT_EQ(error_of("kind: ring\nlink:\n"),
            "ring.yaml:2:1: error: 'link' is a map of keys, not nothing\n"
            "  2 | link:\n"
            "    | ^~~~\n"
            "hint: write 'key: value' lines below it");
}

TEST(RingErrors, KeysOfALink) {
  EXPECT_EQ(link_error("{latency: 5us}"),
            "ring.yaml:2:7: error: 'link' lacks the key 'bandwidth'\n"
            "  2 | link: {latency: 5us}\n"
            "    |       ^\n"
            "hint: add 'bandwidth: ...'");
  EXPECT_EQ(link_error("{bandwidth: 1GB/s}"),
            "ring.yaml:2:7: error: 'link' lacks the key 'latency'\n"
            "  2 | link: {bandwidth: 1GB/s}\n"
            "    |       ^\n"
            "hint: add 'latency: ...'");
  EXPECT_EQ(link_error("{bandwith: 1GB/s, bandwidth: 1GB/s, latency: 5us}"),
            "ring.yaml:2:8: error: unknown key 'bandwith'; did you mean 'bandwidth'?\n"
            "  2 | link: {bandwith: 1GB/s, bandwidth: 1GB/s, latency: 5us}\n"
            "    |        ^~~~~~~~\n"
            "hint: 'link' knows bandwidth, latency");
}

TEST(RingErrors, BandwidthZeroInfiniteNegative) {
  EXPECT_EQ(link_error("{bandwidth: 0GB/s, latency: 5us}"),
            "ring.yaml:2:19: error: a bandwidth of zero carries nothing\n"
            "  2 | link: {bandwidth: 0GB/s, latency: 5us}\n"
            "    |                   ^~~~~\n"
            "hint: remove the link, or give it a bandwidth");
  EXPECT_EQ(link_error("{bandwidth: infGB/s, latency: 5us}"),
            "ring.yaml:2:19: error: 'infGB/s' is not a finite number\n"
            "  2 | link: {bandwidth: infGB/s, latency: 5us}\n"
            "    |                   ^~~~~~~\n"
            "hint: write a bandwidth like 100Gbps or 12.5GB/s");
  EXPECT_EQ(link_error("{bandwidth: -1GB/s, latency: 5us}"),
            "ring.yaml:2:19: error: '-1GB/s' is negative\n"
            "  2 | link: {bandwidth: -1GB/s, latency: 5us}\n"
            "    |                   ^~~~~~\n"
            "hint: a bandwidth cannot be negative");
}

TEST(RingErrors, Units) {
  EXPECT_EQ(link_error("{bandwidth: 12.5GB, latency: 5us}"),
            "ring.yaml:2:23: error: '12.5GB' is a size, not a bandwidth\n"
            "  2 | link: {bandwidth: 12.5GB, latency: 5us}\n"
            "    |                       ^~\n"
            "hint: write a bandwidth like 100Gbps or 12.5GB/s");
  EXPECT_EQ(link_error("{bandwidth: 1GB/s, latency: 5}"),
            "ring.yaml:2:35: error: '5' has no unit\n"
            "  2 | link: {bandwidth: 1GB/s, latency: 5}\n"
            "    |                                   ^\n"
            "hint: write a time like 5us");
  EXPECT_EQ(link_error("{bandwidth: 1GB/s, latency: -5us}"),
            "ring.yaml:2:35: error: '-5us' is negative\n"
            "  2 | link: {bandwidth: 1GB/s, latency: -5us}\n"
            "    |                                   ^~~~\n"
            "hint: a time cannot be negative");
}

TEST(RingErrors, UnknownKey) {
  EXPECT_EQ(error_of("kind: ring\nlink: {bandwidth: 1GB/s, latency: 5us}\noverride: []\n"),
            "ring.yaml:3:1: error: unknown key 'override'; did you mean 'overrides'?\n"
            "  3 | override: []\n"
            "    | ^~~~~~~~\n"
            "hint: 'topology' knows kind, gpu, extent, link, overrides");
}

TEST(RingErrors, OverridesAreAListOfMaps) {
  EXPECT_EQ(override_error("{from: 3, bandwidth: 1GB/s}"),
            "ring.yaml:3:12: error: expected a list, found a map\n"
            "  3 | overrides: {from: 3, bandwidth: 1GB/s}\n"
            "    |            ^\n"
            "hint: write it like [a, b]");
  EXPECT_EQ(override_error("[3]"),
            "ring.yaml:3:13: error: 'overrides' is a map of keys, not a single value\n"
            "  3 | overrides: [3]\n"
            "    |             ^\n"
            "hint: write 'key: value' lines below it");
}

TEST(RingErrors, AnOverrideWithoutARank) {
  EXPECT_EQ(override_error("[{bandwidth: 1GB/s}]"),
            "ring.yaml:3:13: error: 'overrides' lacks the key 'from'\n"
            "  3 | overrides: [{bandwidth: 1GB/s}]\n"
            "    |             ^\n"
            "hint: add 'from: ...'");
  EXPECT_EQ(override_error("[{from: -1, bandwidth: 1GB/s}]"),
            "ring.yaml:3:20: error: -1 is out of range\n"
            "  3 | overrides: [{from: -1, bandwidth: 1GB/s}]\n"
            "    |                    ^~\n"
            "hint: write a number from 0 to 1048575");
}

TEST(RingErrors, AnOverrideThatChangesNothing) {
  EXPECT_EQ(override_error("[{from: 3}]"),
            "ring.yaml:3:13: error: this override changes nothing\n"
            "  3 | overrides: [{from: 3}]\n"
            "    |             ^\n"
            "hint: give it a bandwidth or a latency");
}

TEST(RingErrors, AnOverrideOfNothingKnown) {
  EXPECT_EQ(override_error("[{from: 3, to: 4, bandwidth: 1GB/s}]"),
            "ring.yaml:3:23: error: unknown key 'to'\n"
            "  3 | overrides: [{from: 3, to: 4, bandwidth: 1GB/s}]\n"
            "    |                       ^~\n"
            "hint: 'overrides' knows from, bandwidth, latency, broken");
}

TEST(RingErrors, AnOverrideOfZeroBandwidth) {
  EXPECT_EQ(override_error("[{from: 3, bandwidth: 0B/s}]"),
            "ring.yaml:3:34: error: a bandwidth of zero carries nothing\n"
            "  3 | overrides: [{from: 3, bandwidth: 0B/s}]\n"
            "    |                                  ^~~~\n"
            "hint: remove the link, or give it a bandwidth");
}

TEST(RingErrors, ALinkOverriddenTwice) {
  EXPECT_EQ(override_error("[{from: 3, bandwidth: 1GB/s}, {from: 3, latency: 1us}]"),
            "ring.yaml:3:42: error: the link from rank 3 is overridden twice\n"
            "  3 | overrides: [{from: 3, bandwidth: 1GB/s}, {from: 3, latency: 1us}]\n"
            "    |                                          ^\n"
            "hint: merge the two");
}

}  // namespace
}  // namespace ddpsim
