// A cluster whose links are all so much faster or later.
#include "sim/topology/scaled_links.hpp"

#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"
#include "sim/topology/cluster_graph.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {
namespace {

std::shared_ptr<const Cluster> two_nodes() {
  return read_topology(std::string(DDPSIM_SOURCE_DIR) + "/topologies/dgx-h100.yaml")->build(16);
}

void expect_scaled(const Route& scaled, const Route& plain) {
  EXPECT_EQ(scaled.links, plain.links);
  EXPECT_EQ(scaled.bandwidth, plain.bandwidth * 2);
  EXPECT_EQ(scaled.latency, plain.latency * 0.5);
}

TEST(ScaledLinks, NothingDifferentIsTheClusterItself) {
  auto cluster = two_nodes();
  EXPECT_EQ(with_scaled_links(cluster, {}), cluster);
}

TEST(ScaledLinks, LinksAndRoutesAlike) {
  auto plain = two_nodes();
  auto scaled = with_scaled_links(plain, {2, 0.5});
  ASSERT_EQ(scaled->links(), plain->links());
  for (int link = 0; link < plain->links(); ++link) {
    EXPECT_EQ(scaled->link(link).bandwidth, plain->link(link).bandwidth * 2);
    EXPECT_EQ(scaled->link(link).latency, plain->link(link).latency * 0.5);
    EXPECT_EQ(scaled->link_name(link), plain->link_name(link));
  }
  for (int to : {1, 8, 15}) expect_scaled(scaled->route(0, to), plain->route(0, to));
  expect_scaled(*scaled->find_route(3, 12), *plain->find_route(3, 12));
  expect_scaled(*scaled->to_switch(0), *plain->to_switch(0));
  expect_scaled(*scaled->from_switch(0), *plain->from_switch(0));
  auto edges = scaled->graph().edges, plain_edges = plain->graph().edges;
  for (std::size_t e = 0; e < edges.size(); ++e)
    EXPECT_EQ(edges[e].figures.bandwidth, plain_edges[e].figures.bandwidth * 2);
}

TEST(ScaledLinks, TheSameGpusInTheSameNodes) {
  auto plain = two_nodes();
  auto scaled = with_scaled_links(plain, {1, 0});
  EXPECT_EQ(scaled->gpus(), 16);
  EXPECT_EQ(scaled->nodes(), 2);
  for (int gpu = 0; gpu < 16; ++gpu) {
    EXPECT_EQ(scaled->node_of(gpu), plain->node_of(gpu));
    EXPECT_EQ(scaled->position_of(gpu), plain->position_of(gpu));
    EXPECT_EQ(scaled->gpu_name(gpu), plain->gpu_name(gpu));
  }
  EXPECT_EQ(scaled->like_node(1), plain->like_node(1));
  EXPECT_EQ(scaled->links_named("node1.nic0", {}), plain->links_named("node1.nic0", {}));
}

}  // namespace
}  // namespace ddpsim
