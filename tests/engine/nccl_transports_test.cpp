// What rings get of machines without NVLink: peer-to-peer, the memory of the host, sockets. By hand, GB/s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/direct_sends.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_ways.hpp"
#include "sim/nccl/cost_model.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

// Two sockets of two GPUs; all below one switch a socket, or each on a root port.
std::string four(int gpus_per_switch, const std::string& more, const std::string& nccl = "cpu: intel") {
  return fmt::format(
      "kind: cluster\n"
      "node:\n"
      "  gpus: 4\n"
      "  interconnect: {{kind: pcie, generation: 3, gpus_per_switch: {}, switches_per_socket: {}, socket: "
      "{{bandwidth: 6GB/s, latency: 1us}}{}}}\n"
      "  nics: {{count: 1, bandwidth: 100Gbps, latency: 5us}}\n"
      "fabric: {{kind: fat_tree, nodes_per_leaf: 16{}}}\n"
      "nccl: {{gpu: volta, {}}}\n",
      gpus_per_switch, 2 / gpus_per_switch, more, nccl.find("ethernet ") == 0 ? ", network: ethernet" : "",
      nccl.find("ethernet ") == 0 ? nccl.substr(9) : nccl);
}

struct Seen {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Cluster> cluster;
  nccl::Communicator communicator;
  [[nodiscard]] double busbw() const { return nccl::ring_busbw(communicator).value() / 1e9; }
};
Seen seen(const std::string& text, std::vector<int> gpus = {}, int world_size = 4) {
  Seen one{topology_of(text), {}, {}};
  one.cluster = one.topology->build(world_size);
  if (gpus.empty()) gpus = all_gpus(*one.cluster);
  one.communicator = nccl_communicator(*one.cluster, gpus, *one.topology->nccl);
  return one;
}

TEST(NcclTransports, ASlotsShareWithPeersAndThroughMemory) {
  EXPECT_DOUBLE_EQ(seen(four(1, ", peer_to_peer: true")).busbw(), 0.78 * 12.5);
  EXPECT_DOUBLE_EQ(seen(four(1, "")).busbw(), 0.47 * 12.5);
  EXPECT_DOUBLE_EQ(seen(four(1, ", width: 8")).busbw(), 0.47 * 6.25);
  // Below one switch they are near enough, whatever socket the others are on.
  EXPECT_DOUBLE_EQ(seen(four(2, ""), {0, 1}).busbw(), 0.78 * 12.5);
}

// Of two GPUs below a switch each sends up and receives from above: two flows each way on its uplink.
TEST(NcclTransports, GpusShareTheirUplinkToMemory) {
  auto pair = seen(four(2, ", peer_to_peer: false"), {0, 1});
  EXPECT_DOUBLE_EQ(pair.busbw(), 0.47 * 12.5 / 2);
  NcclWays ways(*pair.cluster, pair.communicator);
  EXPECT_EQ(pair.cluster->route(0, 1).links.size(), 2U);
  EXPECT_EQ(ways.route(0, 1).links.size(), 4U);
  EXPECT_DOUBLE_EQ(ways.route(0, 1).bandwidth.value(), 0.47 * 12.5e9);
}

// Four flows, two on each socket's memory, written and read: 0.9 of 10 GB/s by four.
TEST(NcclTransports, MemoryIsWrittenAndRead) {
  EXPECT_DOUBLE_EQ(seen(four(1, ", host: {memory: 10GB/s}")).busbw(), 0.9 * 10 / 4);
  EXPECT_DOUBLE_EQ(seen(four(1, ", host: {memory: 200GB/s}")).busbw(), 0.47 * 12.5);
}

TEST(NcclTransports, InterleavedMemoryLimitsEachFlow) {
  auto text = [](const std::string& numa) { return four(1, ", host: {numa: " + numa + "}", "cpu: amd"); };
  EXPECT_DOUBLE_EQ(seen(text("1")).busbw(), 1.7);
  EXPECT_DOUBLE_EQ(seen(text("4")).busbw(), 0.47 * 12.5);
  // Of two GPUs EPYCs are peers.
  EXPECT_DOUBLE_EQ(seen(text("1"), {0, 3}).busbw(), 0.78 * 12.5);
  // A GPU's messages to all others get no more together.
  auto whole = seen(text("1"));
  DirectSends sends(NcclWays(*whole.cluster, whole.communicator), all_gpus(*whole.cluster),
                    Operation::all_to_all);
  nccl::PeerModel peers(whole.communicator, {});
  auto time = [&](double bytes) {
    return peers.choose(Operation::all_to_all, Bytes(bytes), sends.bounds()).time.value();
  };
  EXPECT_NEAR((time(2e9) - time(1e9)) / (0.75 * 1e9 / 1.7e9), 1, 1e-9);
}

// A NIC below no switch of the GPU's writes to memory, unless it is told that it need not.
TEST(NcclTransports, NicsWithoutGpudirect) {
  auto pair = [](const std::string& more) { return seen(four(1, "", "cpu: intel" + more), {1, 5}, 8); };
  EXPECT_DOUBLE_EQ(pair("").busbw(), 0.47 * 12.5);
  EXPECT_FALSE(pair("").communicator.direct_nics);
  EXPECT_DOUBLE_EQ(pair(", gpudirect: true").busbw(), nccl::network_share(2) * 12);
  auto near = seen(four(1, "", "cpu: intel"), {0, 4}, 8);  // that GPU's switch has the NIC
  EXPECT_TRUE(near.communicator.direct_nics);
}

TEST(NcclTransports, EthernetMeansSockets) {
  auto one = seen(four(1, ", peer_to_peer: true", "ethernet cpu: intel"), {0, 4}, 8);
  EXPECT_DOUBLE_EQ(one.busbw(), 2.0);
  EXPECT_DOUBLE_EQ(one.communicator.nic_latency.value(), 50e-6);
  EXPECT_DOUBLE_EQ(seen(four(1, ", peer_to_peer: true", "ethernet cpu: intel"), {}, 8).busbw(), 4.0);
  auto rdma = seen(four(1, ", peer_to_peer: true", "ethernet cpu: intel, transport: rdma"), {0, 4}, 8);
  EXPECT_FALSE(rdma.communicator.sockets);
  EXPECT_DOUBLE_EQ(
      seen(four(1, "", "cpu: intel, transport: socket, socket: {thread: 3GB/s}"), {0, 4}, 8).busbw(), 1.5);
}

TEST(NcclTransports, ALatencyThatIsSaidStays) {
  auto said = seen(four(1, "", "ethernet cpu: intel, nic_latency: 3us"), {0, 4}, 8);
  EXPECT_DOUBLE_EQ(said.communicator.nic_latency.value(), 3e-6);
}

// Of uneven nodes the one of a single GPU sends and receives in one process.
TEST(NcclTransports, TheSmallestNodePacesSockets) {
  auto text = four(1, ", peer_to_peer: true", "ethernet cpu: intel");
  EXPECT_DOUBLE_EQ(seen(text, {0, 1, 2, 3, 4}, 8).busbw(), 2.0);
}

// A limit of a flow is one whatever goes both ways, and with two nodes as with one.
TEST(NcclTransports, InterleavedMemoryLimitsPairsOfNodesToo) {
  auto pairs =
      seen(four(1, ", host: {numa: 1}, peer_to_peer: false", "cpu: amd, gpudirect: true"), {0, 1, 4, 5}, 8);
  EXPECT_DOUBLE_EQ(pairs.busbw(), 4.5);
}

// An NVSwitch node's PCIe is not described: its GPU's generation, 0.47 of 25 GB/s for each of four NICs.
TEST(NcclTransports, GpudirectOffWithoutPcie) {
  auto text = [](const std::string& more) {
    return "kind: cluster\nnode: {gpus: 4, interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}, "
           "nics: {count: 4, bandwidth: 200Gbps, latency: 5us}}\nfabric: {kind: rail_optimized}\n"
           "nccl: {gpu: ampere, cpu: intel" +
           more + "}\n";
  };
  EXPECT_DOUBLE_EQ(seen(text(", gpudirect: false"), {}, 8).busbw(), 4 * 0.47 * 25);
  EXPECT_DOUBLE_EQ(seen(text(""), {}, 8).busbw(), nccl::network_share(2) * 100);
}

// Nodes of a graph that nobody calls a network's.
TEST(NcclTransports, SocketsOverLinksOfAnyKind) {
  auto one = seen(
      "kind: graph\ngpus: [{name: a, node: 0}, {name: b, node: 1}]\nlinks: [{between: [a, b], bandwidth: "
      "10GB/s, latency: 1us, medium: pcie}]\nnccl: {gpu: volta, cpu: intel, transport: socket}\n",
      {}, 2);
  EXPECT_DOUBLE_EQ(one.communicator.network_limit.value(), 2e9);
}

TEST(NcclTransports, AGraphSaysWhatItsHostIs) {
  auto busbw = [](const std::string& pcie) {
    return seen("kind: graph\ngpus: [{name: a}, {name: b}, {name: c}]\nswitches: [{name: h}]\n" + pcie +
                    "links: [{between: [a, h], bandwidth: 24GB/s, latency: 1us, medium: host_bridge}, "
                    "{between: [b, h], bandwidth: 24GB/s, latency: 1us, medium: host_bridge}, "
                    "{between: [c, h], bandwidth: 24GB/s, latency: 1us, medium: host_bridge}]\n"
                    "nccl: {gpu: ada, cpu: amd}\n",
                {}, 3)
        .busbw();
  };
  EXPECT_DOUBLE_EQ(busbw(""), 4.5);
  EXPECT_DOUBLE_EQ(busbw("pcie: {numa: 4}\n"), 0.47 * 24);
  EXPECT_DOUBLE_EQ(busbw("pcie: {peer_to_peer: true}\n"), 0.78 * 24);
}

// Measured rings are a share of the shortest ways, whichever way they took.
TEST(NcclTransports, WhatWasMeasuredIsNotSentThroughMemoryAgain) {
  auto pair = seen(four(2, ", peer_to_peer: false"), {0, 1});
  nccl::Calibration measured;
  measured.entries.push_back({nccl::Algorithm::ring, false, {1, 0.25, Seconds(0)}});
  auto c = nccl::with_measured_pcie(pair.communicator, measured);
  EXPECT_DOUBLE_EQ(nccl::ring_busbw(c).value(), 0.25 * 12e9);
  NcclWays ways(*pair.cluster, c);
  EXPECT_EQ(ways.route(0, 1).links.size(), 2U);
  EXPECT_DOUBLE_EQ(ways.route(0, 1).bandwidth.value(), 0.25 * 12e9);
}

// Curves over RDMA say nothing of TCP.
TEST(NcclTransports, CurvesOfAnotherNetworkAreNotTaken) {
  auto one = seen(four(1, ", peer_to_peer: true", "ethernet cpu: intel"), {}, 8);
  nccl::Calibration measured;
  measured.entries.push_back({nccl::Algorithm::ring, true, {1, 1, Seconds(0)}});
  for (const auto* network : {"infiniband", "ethernet"}) {
    measured.network = network;
    nccl::CostModel model(one.communicator, {{nccl::Algorithm::ring}, {}}, measured);
    auto busbw = 1.75 * 1e9 / model.choose(Bytes(1e9)).time.value() / 1e9;
    EXPECT_EQ(busbw < 4.01, measured.network == "infiniband") << network << " " << busbw;
  }
}

// Of a generation little has to be said: eight GPUs on root ports of two sockets, four of which stay in one.
TEST(NcclTransports, AServerInALine) {
  auto text = [](const std::string& more) {
    return "kind: cluster\nnode: {gpus: 8, interconnect: {kind: pcie, generation: 4" + more +
           "}}\nnccl: {gpu: ampere, cpu: amd}\n";
  };
  EXPECT_DOUBLE_EQ(seen(text(""), {}, 8).busbw(), 1.7);
  EXPECT_DOUBLE_EQ(seen(text(""), {0, 1, 2, 3}, 8).busbw(), 4.5);
  EXPECT_DOUBLE_EQ(seen(text(", switches_per_socket: 8"), {}, 8).busbw(), 4.5);
}

// Over sockets a tree between two nodes carries each byte once.
TEST(NcclTransports, NoAlgorithmIsFasterThanTheSockets) {
  auto one = seen(four(1, ", peer_to_peer: true", "ethernet cpu: intel"), {}, 8);
  constexpr double kBytes = 1e9;
  for (auto algorithm : {nccl::Algorithm::ring, nccl::Algorithm::tree}) {
    nccl::CostModel model(one.communicator, {{algorithm}, {}}, {});
    auto time = model.choose(Bytes(kBytes)).time.value();
    EXPECT_GE(time, kBytes / 4e9) << nccl::name(algorithm);
    EXPECT_LE(time, 2 * kBytes / 4e9) << nccl::name(algorithm);
  }
}

}  // namespace
}  // namespace ddpsim::testing
