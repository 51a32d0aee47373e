// What `nvidia-smi topo -m` prints, as topology files: the same classes in every cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/topology/imports.hpp"

namespace ddpsim {
namespace {

using testing::expect_figures;
using testing::fixture;
using testing::from;
using ::testing::HasSubstr;
using testing::imported;
using ::testing::Not;
using testing::TemporaryFolder;

TopologyImport with_gpu(const std::string& name, nccl::Gpu gpu) {
  auto import = from(fixture(name));
  import.gpu = gpu;
  import.nic_bandwidth = BytesPerSecond(25e9);
  return import;
}

TEST(ImportNvidiaSmi, ShowsTheSameMatrix) {
  for (const auto& import :
       {with_gpu("nvswitch.txt", nccl::Gpu::ampere), with_gpu("pcie_node.txt", nccl::Gpu::ada),
        with_gpu("all_classes.txt", nccl::Gpu::ampere), with_gpu("mesh_blanks.txt", nccl::Gpu::volta)}) {
    SCOPED_TRACE(import.path);
    auto cells = testing::gpu_cells(testing::contents(import.path));
    ASSERT_GE(cells.size(), 4u);
    EXPECT_EQ(testing::shown(*imported(import)), cells);
  }
}

// GPU2 lost its NVLinks: the others keep their 12 to NVSwitches, and it goes by PCIe.
TEST(ImportNvidiaSmi, OneGpuOffNvlink) {
  auto import = with_gpu("one_off_nvlink.txt", nccl::Gpu::ampere);
  EXPECT_EQ(testing::shown(*imported(import)), testing::gpu_cells(testing::contents(import.path)));
  auto found = import_nvidia_smi(import);
  EXPECT_THAT(found.yaml, HasSubstr("kind: graph\n"));
  EXPECT_THAT(
      found.yaml,
      HasSubstr(
          "  - {between: [gpu3, nvswitch], bandwidth: 25GB/s, latency: 0.5us, count: 12, medium: nvlink}\n"));
  EXPECT_THAT(found.yaml, Not(HasSubstr("[gpu2, nvswitch]")));
  EXPECT_THAT(
      found.notes,
      ::testing::Contains(
          "GPU2 has no NVLink, and all others have 12 to NVSwitches: broken? It is joined by PCIe here"));
}

TEST(ImportNvidiaSmi, TheGpuByItsName) {
  auto import = with_gpu("nvswitch.txt", nccl::Gpu::ampere);
  EXPECT_THAT(import_nvidia_smi(import).yaml, Not(HasSubstr("\ngpu: ")));
  import.gpu_file = "a100-sxm4-80gb";
  EXPECT_THAT(import_nvidia_smi(import).yaml, HasSubstr("kind: cluster\ngpu: a100-sxm4-80gb\nnode:\n"));
}

// 12 links of 25 GB/s to NVSwitches: 8 GPUs with 12 links in each pair would have 84. Two NICs near each pair
// of GPUs, so each GPU has one of its own; the two for storage are nobody's.
TEST(ImportNvidiaSmi, NodeOfNvswitches) {
  auto yaml = import_nvidia_smi(with_gpu("nvswitch.txt", nccl::Gpu::ampere)).yaml;
  EXPECT_EQ(yaml,
            "# Imported from nvswitch.txt (nvidia-smi topo -m) by 'ddpsim topology import'.\n"
            "# NICs: nic0 is mlx5_0 (PXB to its GPU), nic1 is mlx5_1 (PXB to its GPU), nic2 is mlx5_2 (PXB "
            "to its GPU), nic3 is\n"
            "# mlx5_3 (PXB to its GPU), nic4 is mlx5_4 (PXB to its GPU), nic5 is mlx5_5 (PXB to its GPU), "
            "nic6 is mlx5_6 (PXB to\n"
            "# its GPU), nic7 is mlx5_7 (PXB to its GPU).\n"
            "# Left out, as each GPU uses 1 NIC and others are nearer or as near: mlx5_8, mlx5_9.\n"
            "# NVLink: 25 GB/s per link and direction, as NVIDIA says of ampere (--gpu).\n"
            "# All latencies are assumptions: the file has none.\n"
            "# For several nodes add the network: a 'fabric', e.g. {kind: rail_optimized}.\n"
            "# For NCCL's model add 'nccl: {gpu: ampere, cpu: ...}'.\n"
            "kind: cluster\n"
            "node:\n"
            "  gpus: 8\n"
            "  interconnect:\n"
            "    kind: nvswitch\n"
            "    bandwidth: 25GB/s\n"
            "    count: 12\n"
            "    latency: 1us\n"
            "  nics: {count: 8, bandwidth: 200Gbps, latency: 5us, affinity: [0, 1, 2, 3, 4, 5, 6, 7], "
            "devices: [mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7]}\n");
  auto cluster = imported(with_gpu("nvswitch.txt", nccl::Gpu::ampere));
  expect_figures(cluster->route(0, 7), 300e9, 1e-6);
  EXPECT_FALSE(cluster->to_switch(0));
}

// Four GPUs on four NUMA nodes: two sockets of two domains, which the driver keeps apart or does not.
class Peers : public ::testing::Test {
 protected:
  TopologyImport machine(const std::string& statuses) {
    auto import = from(folder_.write("matrix.txt",
                                     "     GPU0 GPU1 GPU2 GPU3 CPU Affinity NUMA Affinity\n"
                                     "GPU0 X SYS SYS SYS 0-7 0\n"
                                     "GPU1 SYS X SYS SYS 8-15 1\n"
                                     "GPU2 SYS SYS X SYS 16-23 2\n"
                                     "GPU3 SYS SYS SYS X 24-31 3\n"));
    import.gpu = nccl::Gpu::ada;
    import.cpu = HostCpu::amd;
    import.peer_to_peer = folder_.write("peers.txt", statuses);
    return import;
  }
  static std::string rows(const std::string& status) {
    std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\t\n";
    for (int a = 0; a < 4; ++a) {
      text += "GPU" + std::to_string(a);
      for (int b = 0; b < 4; ++b) text += "\t" + (a == b ? std::string("X") : status);
      text += "\t\n";
    }
    return text + "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n";
  }
  std::string error(const std::string& statuses) {
    try {
      return import_nvidia_smi(machine(statuses)).yaml;
    } catch (const InputError& error) {
      return error.message();
    }
  }
  TemporaryFolder folder_;
};

TEST_F(Peers, AreWrittenWhereTheDriverHasNone) {
  EXPECT_THAT(import_nvidia_smi(machine(rows("CNS"))).yaml, HasSubstr("peer_to_peer: false\n"));
  EXPECT_THAT(import_nvidia_smi(machine(rows("OK"))).yaml, Not(HasSubstr("peer_to_peer")));
}

TEST_F(Peers, DomainsOfASocketAreCounted) {
  auto yaml = import_nvidia_smi(machine(rows("OK"))).yaml;
  EXPECT_THAT(yaml, HasSubstr("numa: 2}"));
  EXPECT_THAT(yaml, HasSubstr("4 NUMA nodes have GPUs"));
  EXPECT_EQ(testing::read_text(yaml)->build(4)->pcie_host(0).numa_domains, 2);
}

TEST_F(Peers, MatricesThatAreNone) {
  EXPECT_THAT(error(rows("MAYBE")), HasSubstr("'MAYBE' is no status"));
  EXPECT_THAT(error("nothing"), HasSubstr("0 rows of GPUs, and the node has 4"));
  auto mixed = rows("OK");
  mixed.replace(mixed.rfind("OK\tX"), 2, "NS");
  EXPECT_THAT(error(mixed), HasSubstr("some pairs of GPUs have peer-to-peer"));
  EXPECT_THAT(error("GPU0\tX\tOK\n"), HasSubstr("a row of 2 cells"));
}

// A host bridge for each switch: GPU, switch, NUMA node (by way of the host bridge), switch, GPU.
TEST(ImportNvidiaSmi, ARegularTreeOfPcieIsACluster) {
  auto import = with_gpu("pcie_node.txt", nccl::Gpu::ada);
  auto yaml = import_nvidia_smi(import).yaml;
  EXPECT_THAT(
      yaml,
      HasSubstr("  interconnect:\n"
                "    kind: pcie\n"
                "    bandwidth: 24GB/s\n"
                "    latency: 0.5us\n"
                "    gpus_per_switch: 2\n"
                "    switches_per_socket: 2\n"
                "    host: {bandwidth: 24GB/s, latency: 0.5us, medium: numa_node}\n"
                "    socket: {bandwidth: 10GB/s, latency: 0.5us}\n"
                "  nics: {count: 2, bandwidth: 200Gbps, latency: 5us, affinity: [0, 0, 0, 0, 1, 1, 1, 1], "
                "devices: [mlx5_0, mlx5_1]}\n"));
  EXPECT_THAT(yaml, HasSubstr("lanes are assumptions: the matrix says neither.\n"));
  auto cluster = imported(import);
  expect_figures(cluster->route(0, 2), 24e9, 2e-6);
  expect_figures(cluster->route(0, 4), 10e9, 2.5e-6);
  import.pcie_generation = 3;
  import.cpu = HostCpu::sapphire_rapids;
  expect_figures(imported(import)->route(0, 2), 12e9, 2e-6);
  expect_figures(imported(import)->route(0, 4), 12e9, 2.5e-6);
}

// A NIC's name that YAML takes for nothing, or that the node's own vertices have, is left out; fuzzing found
// both.
TEST(ImportNvidiaSmi, OddNamesOfNics) {
  auto import = with_gpu("pcie_node.txt", nccl::Gpu::ada);
  for (const char* name : {"NULL", "true", "gpu1", "nic0", "host0", "17"}) {
    SCOPED_TRACE(name);
    auto text = testing::contents(import.path);
    text.replace(text.find("mlx5_1"), 6, name);
    testing::TemporaryFolder folder;
    auto odd = import;
    odd.path = folder.write("matrix.txt", text);
    EXPECT_THAT(import_nvidia_smi(odd).yaml, Not(HasSubstr("devices")));
    EXPECT_EQ(testing::shown(*imported(odd)), testing::shown(*imported(import)));
  }
}

// The matrix does not say which CPUs: NCCL's figure for one, by name, and which options say better.
TEST(ImportNvidiaSmi, BetweenSockets) {
  auto import = with_gpu("pcie_node.txt", nccl::Gpu::ada);
  auto notes = [&] { return import_nvidia_smi(import).notes; };
  EXPECT_THAT(notes(), ::testing::Contains(
                           "between sockets: 10 GB/s per direction, as NCCL counts skylake (SKL_QPI_BW in "
                           "src/graph/topo.h); an assumption: the matrix does not say which CPUs these are; "
                           "--cpu or --socket-bandwidth does"));
  import.cpu = HostCpu::amd;
  EXPECT_THAT(notes(),
              ::testing::Contains("between sockets: 16 GB/s per direction, as NCCL counts amd (AMD_BW "
                                  "in src/graph/topo.h) (--cpu); --socket-bandwidth sets another"));
  import.socket_bandwidth = BytesPerSecond(20e9);
  EXPECT_THAT(notes(), Not(::testing::Contains(HasSubstr("sockets"))));
  EXPECT_THAT(import_nvidia_smi(import).yaml,
              HasSubstr("# Between sockets: 20 GB/s per direction (--socket-bandwidth).\n"));
  expect_figures(imported(import)->route(0, 4), 20e9, 2.5e-6);
  auto nvswitch = with_gpu("nvswitch.txt", nccl::Gpu::ampere);
  EXPECT_THAT(import_nvidia_smi(nvswitch).notes, Not(::testing::Contains(HasSubstr("sockets"))));
  nvswitch.socket_bandwidth = BytesPerSecond(20e9);
  EXPECT_THAT(import_nvidia_smi(nvswitch).notes,
              ::testing::Contains(HasSubstr("--socket-bandwidth has no effect")));
}

// Two switches below one, a GPU right below the host bridge, one with a host bridge of its own.
TEST(ImportNvidiaSmi, AnIrregularTreeIsAGraph) {
  auto import = with_gpu("all_classes.txt", nccl::Gpu::ampere);
  import.nic_bandwidth.reset();  // in a graph its cable leads nowhere
  auto text = import_nvidia_smi(import);
  EXPECT_EQ(text.summary, "6 GPUs, 1 NIC (kind: graph)");
  auto graph = imported(import);
  using ::testing::ElementsAre;
  EXPECT_THAT(testing::way(*graph, 0, 1), ElementsAre("gpu0>gpu1"));
  expect_figures(graph->route(0, 1), 100e9, 0.3e-6);
  EXPECT_THAT(testing::way(*graph, 0, 2),
              ElementsAre("gpu0>pcie0", "pcie0>pcie1", "pcie1>pcie2", "pcie2>gpu2"));
  EXPECT_THAT(testing::way(*graph, 3, 4),
              ElementsAre("gpu3>host0", "host0>numa0", "numa0>host1", "host1>gpu4"));
  EXPECT_THAT(testing::way(*graph, 4, 5),
              ElementsAre("gpu4>host1", "host1>numa0", "numa0>host2", "host2>gpu5"));
}

// NVLink hides the classes of 0-1, 0-2, 1-3 and 2-3; the NICs put 0 and 1 below one switch, 2 and 3 below
// another one.
TEST(ImportNvidiaSmi, AMeshAbovePcie) {
  auto yaml = import_nvidia_smi(with_gpu("mesh_blanks.txt", nccl::Gpu::volta)).yaml;
  EXPECT_THAT(yaml, HasSubstr("    kind: nvlink_mesh\n"
                              "    bandwidth: 25GB/s\n"
                              "    latency: 0.3us\n"
                              "    links:\n"
                              "      - {between: [0, 1]}\n"
                              "      - {between: [0, 2], count: 2}\n"
                              "      - {between: [1, 3], count: 2}\n"
                              "      - {between: [2, 3]}\n"
                              "    pcie:\n"
                              "      bandwidth: 12GB/s\n"
                              "      latency: 0.5us\n"
                              "      gpus_per_switch: 2\n"
                              "      switches_per_socket: 1\n"
                              "      host: {bandwidth: 12GB/s, latency: 0.5us}\n"
                              "      socket: {bandwidth: 10GB/s, latency: 0.5us}\n"));
}

// 3 x 4 links are what an A100 has: no NVSwitch.
TEST(ImportNvidiaSmi, AllPairsJoinedDirectly) {
  testing::TemporaryFolder folder;
  auto import = from(folder.write("m.txt",
                                  "\tGPU0\tGPU1\tGPU2\tGPU3\n"
                                  "GPU0\tX\tNV4\tNV4\tNV4\n"
                                  "GPU1\tNV4\tX\tNV4\tNV4\n"
                                  "GPU2\tNV4\tNV4\tX\tNV4\n"
                                  "GPU3\tNV4\tNV4\tNV4\tX\n"));
  import.gpu = nccl::Gpu::ampere;
  auto yaml = import_nvidia_smi(import).yaml;
  EXPECT_THAT(yaml, HasSubstr("kind: nvlink_mesh"));
  EXPECT_THAT(yaml, Not(HasSubstr("pcie:")));
  EXPECT_THAT(yaml, HasSubstr("# For several nodes add 'nics' to the node, and a 'fabric'.\n"));
  expect_figures(imported(import)->route(0, 3), 100e9, 0.3e-6);
}

TEST(ImportNvidiaSmi, NvswitchesOfHopperMulticast) {
  auto import = with_gpu("nvswitch.txt", nccl::Gpu::hopper);
  expect_figures(imported(import)->to_switch(3).value(), 300e9, 0.5e-6);
}

// Nothing says how 0 and 1, or 2 and 3, are joined without NVLink: below one host bridge each, as 0-2 ... are
// SYS.
TEST(ImportNvidiaSmi, WhatNvlinkHides) {
  testing::TemporaryFolder folder;
  auto matrix = [](const std::string& of_0, const std::string& of_2) {
    return "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
           "GPU0\tX\tNV2\tSYS\tSYS\t0\t" +
           of_0 +
           "\nGPU1\tNV2\tX\tSYS\tSYS\t0\t0\n"
           "GPU2\tSYS\tSYS\tX\tNV2\t0\t" +
           of_2 + "\nGPU3\tSYS\tSYS\tNV2\tX\t0\t1\n";
  };
  auto import = from(folder.write("m.txt", matrix("0", "1")));
  import.gpu = nccl::Gpu::ampere;
  auto yaml = import_nvidia_smi(import).yaml;
  EXPECT_THAT(yaml, HasSubstr("      gpus_per_switch: 1\n      switches_per_socket: 2\n"));
  EXPECT_THAT(yaml, HasSubstr("here: an assumption.\n"));
  // Another NUMA node: another host bridge.
  folder.write("m.txt", matrix("2", "3"));
  yaml = import_nvidia_smi(import).yaml;
  EXPECT_THAT(yaml, HasSubstr("      gpus_per_switch: 1\n      switches_per_socket: 1\n"));
}

// Two NICs as near to each GPU are one of twice the bandwidth; a second one near one GPU only is left out, as
// the NICs of a cluster are alike. Of generation 5 x16 48 GB/s carry both, of generation 4 24.
TEST(ImportNvidiaSmi, TwoNicsNearEachGpu) {
  testing::TemporaryFolder folder;
  auto matrix = [](const std::string& of_3) {
    return "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tNIC3\n"
           "GPU0\tX\tNV18\tPXB\tPXB\tSYS\tSYS\n"
           "GPU1\tNV18\tX\tSYS\tSYS\tPXB\t" +
           of_3 + "\n";
  };
  auto import = from(folder.write("m.txt", matrix("PXB")));
  import.gpu = nccl::Gpu::hopper;
  import.nic_bandwidth = BytesPerSecond(22.5e9);
  auto topology = import_nvidia_smi(import);
  EXPECT_THAT(topology.yaml,
              HasSubstr("nics: {count: 2, bandwidth: 360Gbps, latency: 5us, affinity: [0, 1]}"));
  EXPECT_THAT(topology.notes, ::testing::Contains(HasSubstr("one NIC of 360Gbps here, 2 x 180Gbps")));
  import.pcie_generation = 4;
  EXPECT_THAT(import_nvidia_smi(import).yaml, HasSubstr("nics: {count: 2, bandwidth: 192Gbps,"));
  folder.write("m.txt", matrix("SYS"));
  topology = import_nvidia_smi(import);
  EXPECT_THAT(topology.yaml,
              HasSubstr("nics: {count: 2, bandwidth: 180Gbps, latency: 5us, affinity: [0, 1]}"));
  EXPECT_THAT(
      topology.notes,
      ::testing::Contains("left out, as each GPU uses 1 NIC and others are nearer or as near: NIC1, NIC3"));
}

TEST(ImportNvidiaSmi, OneGpu) {
  testing::TemporaryFolder folder;
  auto import =
      from(folder.write("m.txt", "\tGPU0\tNIC0\tCPU Affinity\nGPU0\tX\tPIX\t0-15\nNIC0\tPIX\tX\t\n"));
  import.nic_bandwidth = BytesPerSecond(12.5e9);
  EXPECT_THAT(
      import_nvidia_smi(import).yaml,
      HasSubstr("node:\n  gpus: 1\n  nics: {count: 1, bandwidth: 100Gbps, latency: 5us, affinity: [0]}\n"));
  EXPECT_EQ(imported(import)->gpus(), 1);
}

// The imported node with a fabric: 64 of them.
TEST(ImportNvidiaSmi, ScalesToManyNodes) {
  auto yaml = import_nvidia_smi(with_gpu("nvswitch.txt", nccl::Gpu::ampere)).yaml;
  auto cluster = testing::build_text(yaml + "fabric: {kind: rail_optimized}\n", 512);
  EXPECT_EQ(cluster->nodes(), 64);
  expect_figures(cluster->route(0, 8), 25e9, 5e-6);
}

}  // namespace
}  // namespace ddpsim
