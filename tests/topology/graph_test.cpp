// Kind graph: routes, and every way in which such a file can be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::expect_figures;
using testing::topology_error;
using testing::way;

// Two nodes: g0 = g1 by two links, g2 - g3 by one; NICs joined by a switch.
constexpr const char* kTwoNodes =
    "kind: graph\n"
    "gpus: [{name: g0, node: 4}, {name: g1, node: 4}, {name: g2, node: 7}, {name: g3, node: 7}]\n"
    "switches: [{name: s-0}]\n"
    "nics: [{name: n0, node: 4}, {name: n1, node: 7}]\n"
    "links:\n"
    "  - {between: [g0, g1], bandwidth: 25GB/s, latency: 700ns, count: 2}\n"
    "  - {between: [g2, g3], bandwidth: 25GB/s, latency: 700ns}\n"
    "  - {between: [g0, n0], bandwidth: 16GB/s, latency: 1us}\n"
    "  - {between: [g2, n1], bandwidth: 16GB/s, latency: 1us}\n"
    "  - {between: [n0, s-0], bandwidth: 12.5GB/s, latency: 2us}\n"
    "  - {from: n1, to: s-0, bandwidth: 10GB/s, latency: 2us}\n"
    "  - {from: s-0, to: n1, bandwidth: 12.5GB/s, latency: 3us}\n";

TEST(Graph, Routes) {
  auto graph = build_text(kTwoNodes, 4);
  EXPECT_EQ(graph->nodes(), 2);
  EXPECT_EQ(graph->node_of(2), 1);
  EXPECT_EQ(graph->position_of(3), 1);
  EXPECT_EQ(graph->links(), 12);
  expect_figures(graph->route(0, 1), 50e9, 700e-9);
  EXPECT_THAT(way(*graph, 0, 2), ElementsAre("g0>n0", "n0>s-0", "s-0>n1", "n1>g2"));
  expect_figures(graph->route(0, 2), 12.5e9, 7e-6);
  expect_figures(graph->route(2, 0), 10e9, 6e-6);
  EXPECT_FALSE(graph->find_route(1, 2)) << "GPUs do not forward";
}

TEST(Graph, TheFirstGpusOnly) {
  auto graph = build_text(kTwoNodes, 2);
  EXPECT_EQ(graph->gpus(), 2);
  EXPECT_EQ(graph->nodes(), 1);
  EXPECT_EQ(topology_error(kTwoNodes, 5),
            "error: 5 GPUs are more than the 4 of the topology\n"
            "hint: use a world size of at most 4, or add GPUs to the topology");
}

// Names may hold a '-' themselves.
TEST(Graph, Names) {
  auto graph = build_text(kTwoNodes, 4);
  auto named = [&](const std::string& name) {
    return testing::link_names(*graph, graph->links_named(name, {}));
  };
  EXPECT_THAT(named("n0-s-0"), ElementsAre("n0>s-0", "s-0>n0"));
  EXPECT_THAT(named("s-0>n0"), ElementsAre("s-0>n0"));
  EXPECT_THAT(named("n1"), ElementsAre("n1>s-0", "s-0>n1"));
  EXPECT_EQ(testing::input_error([&] { (void)graph->links_named("g0>g11", {}); }),
            "error: there is no link 'g0>g11'; did you mean 'g0>g1'?\n"
            "hint: write 'A>B' for one direction or 'A-B' for both; the first link is g0>g1");
}

// Shortest first, then widest: over s1 although s0 is listed first.
TEST(Graph, TheWidestOfTheShortest) {
  std::string text =
      "kind: graph\n"
      "gpus: [{name: a}, {name: b}]\n"
      "switches: [{name: s0}, {name: s1, multicast: true}]\n"
      "links:\n"
      "  - {between: [a, s0], bandwidth: 10GB/s, latency: 1us}\n"
      "  - {between: [b, s0], bandwidth: 10GB/s, latency: 1us}\n"
      "  - {between: [a, s1], bandwidth: 20GB/s, latency: 9us}\n"
      "  - {between: [b, s1], bandwidth: 20GB/s, latency: 9us}\n";
  auto graph = build_text(text, 2);
  EXPECT_THAT(way(*graph, 0, 1), ElementsAre("a>s1", "s1>b"));
  expect_figures(graph->to_switch(0).value(), 20e9, 9e-6);
  expect_figures(graph->from_switch(1).value(), 20e9, 9e-6);
  auto broken = build_text(text + "overrides: [{link: s1>b, broken: true}]\n", 2);
  EXPECT_THAT(way(*broken, 0, 1), ElementsAre("a>s0", "s0>b"));
  EXPECT_THAT(way(*broken, 1, 0), ElementsAre("b>s1", "s1>a"));
}

TEST(Graph, NoWayAroundABrokenLink) {
  testing::TemporaryFolder folder;
  auto path = folder.write("t.yaml", std::string(kTwoNodes) + "overrides: [{link: n0-s-0, broken: true}]\n");
  auto graph = read_topology(path)->build(4);
  EXPECT_EQ(folder.without_folder(testing::input_error([&] { (void)graph->route(0, 2); })),
            "t.yaml:13:20: error: no way from g0 to g2: link n0>s-0 is broken\n"
            "  13 | overrides: [{link: n0-s-0, broken: true}]\n"
            "     |                    ^~~~~~\n"
            "hint: no other links lead there; leave one of them whole");
}

}  // namespace
}  // namespace ddpsim
