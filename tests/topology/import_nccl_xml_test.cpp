// NCCL's topology XML as topology files. The matrices are what the trees say, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/imports.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::expect_figures;
using testing::fixture;
using testing::from;
using ::testing::HasSubstr;
using testing::imported;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::words_of;

// Every GPU has 4 + 5 + 5 + 4 = 18 links to the NVSwitches. The NIC for storage is slower than the others.
TEST(ImportNcclXml, NodeOfNvswitches) {
  auto import = from(fixture("dump_nvswitch.xml"));
  auto yaml = import_nccl_xml(import).yaml;
  EXPECT_THAT(
      yaml,
      HasSubstr("node:\n"
                "  gpus: 8\n"
                "  interconnect:\n"
                "    kind: nvswitch\n"
                "    bandwidth: 25GB/s\n"
                "    count: 18\n"
                "    latency: 1us\n"
                "    multicast: true\n"
                "  nics: {count: 8, bandwidth: 400Gbps, latency: 5us, affinity: [0, 1, 2, 3, 4, 5, 6, 7], "
                "devices: [mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7]}\n"));
  EXPECT_THAT(yaml,
              HasSubstr("# NVLink: 25 GB/s per link and direction, as NVIDIA says of hopper (sm 90).\n"));
  EXPECT_THAT(yaml, HasSubstr("# Left out, as slower than the others: storage.\n"));
  auto cluster = imported(import);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) EXPECT_EQ(link_type(*cluster, a, b), a == b ? "X" : "NV18");
  expect_figures(cluster->route(2, 5), 450e9, 1e-6);
}

// Both ports of a ConnectX-7 beside each H100 of a real machine: 2 x 180 Gb/s, and the slot carries 384.
TEST(ImportNcclXml, BothPortsOfANic) {
  auto import = from(fixture("dump_two_ports.xml"));
  auto topology = import_nccl_xml(import);
  EXPECT_THAT(topology.notes,
              ElementsAre("NCCL uses both NIC ports nearest to a GPU: they are one NIC of 360Gbps here, 2 x "
                          "180Gbps"));
  EXPECT_THAT(topology.yaml, HasSubstr("# NCCL uses both NIC ports nearest to a GPU"));
  EXPECT_THAT(topology.yaml, HasSubstr("nic0 is mlx5_0 and mlx5_1 (PXB to its GPU), nic1 is mlx5_9 and"));
  auto cluster = testing::build_text(topology.yaml + "fabric: {kind: rail_optimized}\n", 4);
  expect_figures(cluster->route(0, 2), 45e9, 5e-6);
}

// Files for NCCL_TOPO_FILE have no NVLinks. --nvlinks is NV# of nvidia-smi: 7 x 12 are more than an A100 has,
// so they lead to NVSwitches; among four, 3 x 4 are direct.
TEST(ImportNcclXml, NvlinksThatTheFileDoesNotHold) {
  auto import = from(fixture("topo_file.xml"));
  import.nic_bandwidth = BytesPerSecond(25e9);
  EXPECT_THAT(
      import_nccl_xml(import).notes,
      Contains("the file holds no NVLinks, which NCCL finds when it runs: no NVLink joins GPUs here; "
               "--nvlinks N adds N between all pairs, as NV# in the matrix of nvidia-smi, with --gpu"));
  import.gpu = nccl::Gpu::ampere;
  EXPECT_THAT(import_nccl_xml(import).notes,
              Contains(HasSubstr("holds no NVLinks, though ampere GPUs have up to 12: no NVLink joins")));
  import.nvlinks = 12;
  auto topology = import_nccl_xml(import);
  EXPECT_THAT(topology.notes, ElementsAre());
  EXPECT_THAT(topology.yaml, HasSubstr("kind: nvswitch\n    bandwidth: 25GB/s\n    count: 12\n"));
  EXPECT_THAT(topology.yaml, HasSubstr("of ampere (--gpu). 12 to share between two GPUs: --nvlinks.\n"));
  expect_figures(imported(import)->route(2, 5), 300e9, 1e-6);
  import.gpu = nccl::Gpu::ada;
  import.nvlinks.reset();
  EXPECT_THAT(import_nccl_xml(import).notes, Not(Contains(HasSubstr("NVLinks"))));
}

// A real file of NC A100 v4: each GPU's 12 NVLinks lead to itself. Among four GPUs 3 x 4 links are direct.
TEST(ImportNcclXml, NvlinksToItself) {
  auto import = from(fixture("topo_self_links.xml"));
  import.pcie_generation = 4;
  EXPECT_THAT(
      import_nccl_xml(import).notes,
      IsSupersetOf(
          {HasSubstr("left out, as they lead from a GPU to itself: the NVLinks of gpu0, gpu1, gpu2, gpu3"),
           HasSubstr("holds no NVLinks, though ampere GPUs have up to 12")}));
  expect_figures(imported(import)->route(0, 1), 16e9, 2.5e-6);
  import.nvlinks = 4;
  EXPECT_THAT(import_nccl_xml(import).notes, Contains(HasSubstr("from a GPU to itself")));
  EXPECT_THAT(import_nccl_xml(import).yaml, HasSubstr("kind: nvlink_mesh\n"));
  expect_figures(imported(import)->route(0, 3), 100e9, 0.3e-6);
}

TEST(ImportNcclXml, AGpuWithoutNvlinksAmongOthers) {
  testing::TemporaryFolder folder;
  auto text = testing::contents(fixture("dump_two_ports.xml"));
  auto begin = text.rfind("<nvlink"), end = text.rfind("</gpu>");
  for (int i = 0; i < 3; ++i) begin = text.rfind("<nvlink", begin - 1);
  auto import = from(folder.write("t.xml", text.erase(begin, end - begin)));
  EXPECT_THAT(import_nccl_xml(import).notes,
              Contains("no NVLinks in the file to gpu1, and others have some"));
}

// A GPU and NICs of 200 Gb/s, all right below one CPU.
std::string node_with_nics(const std::string& speed_of_slots, const std::string& nics) {
  auto slot = [&](const std::string& bus, const std::string& pci_class, const std::string& inside) {
    return "<pci busid=\"" + bus + "\" class=\"" + pci_class + "\" link_width=\"16\" link_speed=\"" +
           speed_of_slots + "\">" + inside + "</pci>";
  };
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\">" +
         slot("0000:01:00.0", "0x030200", "<gpu dev=\"0\" sm=\"90\"/>") +
         slot("0000:02:00.0", "0x020700", nics.empty() ? "" : "<nic>" + nics + "</nic>") + "</cpu></system>";
}

std::string net(int dev, const std::string& more = "speed=\"200000\"") {
  auto number = std::to_string(dev);
  return "<net name=\"mlx5_" + number + "\" dev=\"" + number + "\" " + more + "/>";
}

// x16 of 16 GT/s: 24 GB/s, 192 Gb/s, is less than one port, which is left as it is; 32 GT/s: 384 Gb/s.
TEST(ImportNcclXml, PortsAsFarAsPcieCarriesThem) {
  testing::TemporaryFolder folder;
  auto nics = [&](const std::string& slots) {
    auto topology = import_nccl_xml(from(folder.write("t.xml", node_with_nics(slots, net(0) + net(1)))));
    EXPECT_EQ(topology.notes.size(), 1u);
    return topology.notes.front();
  };
  EXPECT_THAT(nics("64 GT/s"), HasSubstr("one NIC of 400Gbps here, 2 x 200Gbps"));
  EXPECT_THAT(nics("32 GT/s"), HasSubstr("one NIC of 384Gbps here, what PCIe carries of 2 x 200Gbps"));
  EXPECT_THAT(nics("16 GT/s"), HasSubstr("one NIC of 200Gbps here, what PCIe carries of 2 x 200Gbps"));
}

TEST(ImportNcclXml, NicsThatNcclDoesNotUseAreNamed) {
  testing::TemporaryFolder folder;
  auto notes = [&](const std::string& nics) {
    return import_nccl_xml(from(folder.write("t.xml", node_with_nics("32 GT/s", nics)))).notes;
  };
  const std::string because = "left out, as NCCL does not use them by what the file says: ";
  EXPECT_THAT(notes(net(0) + net(1, "net=\"0\"")), ElementsAre(because + "mlx5_1"));
  EXPECT_THAT(notes(""), ElementsAre(because + "0000:02:00.0"));
  // Dumps have been seen with one socket's device below each <cpu>.
  EXPECT_THAT(notes(net(0) + net(0)),
              ElementsAre("left out, as the file has them a second time, at another place: mlx5_0"));
  EXPECT_THAT(notes(net(0) + net(1, "speed=\"100000\"")),
              ElementsAre("left out, as slower than the others: mlx5_1"));
}

// A DGX-1: the same matrix as `nvidia-smi topo -m` prints there, and the same node as
// topologies/dgx1-v100.yaml.
TEST(ImportNcclXml, HybridCubeMesh) {
  auto cluster = imported(from(fixture("dump_v100_mesh.xml")));
  EXPECT_EQ(testing::shown(*cluster), words_of("X NV1 NV1 NV2 NV2 SYS SYS SYS\n"
                                               "NV1 X NV2 NV1 SYS NV2 SYS SYS\n"
                                               "NV1 NV2 X NV2 SYS SYS NV1 SYS\n"
                                               "NV2 NV1 NV2 X SYS SYS SYS NV1\n"
                                               "NV2 SYS SYS SYS X NV1 NV1 NV2\n"
                                               "SYS NV2 SYS SYS NV1 X NV2 NV1\n"
                                               "SYS SYS NV1 SYS NV1 NV2 X NV2\n"
                                               "SYS SYS SYS NV1 NV2 NV1 NV2 X\n"));
  auto by_hand = read_topology(testing::file_path("dgx1-v100.yaml"))->build(8);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      auto route = cluster->route(a, b), expected = by_hand->route(a, b);
      EXPECT_EQ(route.links.size(), expected.links.size());
      EXPECT_EQ(route.bandwidth, expected.bandwidth);
    }
}

// GPUs 1 and 2 below one switch, GPU 0 below another one, both below a third; GPU 3 at the same CPU, 4 at the
// other. AMD's sockets: 16 GB/s; a slot of generation 3: 12 GB/s.
TEST(ImportNcclXml, AnIrregularTreeIsAGraph) {
  auto import = from(fixture("dump_pcie.xml"));
  auto graph = imported(import);
  EXPECT_EQ(testing::shown(*graph), words_of("X PXB PXB PHB SYS\n"
                                             "PXB X PIX PHB SYS\n"
                                             "PXB PIX X PHB SYS\n"
                                             "PHB PHB PHB X SYS\n"
                                             "SYS SYS SYS SYS X\n"));
  EXPECT_THAT(testing::way(*graph, 1, 2), ElementsAre("gpu1>pcie2", "pcie2>gpu2"));
  EXPECT_THAT(testing::way(*graph, 3, 4), ElementsAre("gpu3>host0", "host0>host1", "host1>gpu4"));
  expect_figures(graph->route(0, 3), 24e9, 2e-6);
  expect_figures(graph->route(3, 4), 12e9, 1.5e-6);
  auto yaml = import_nccl_xml(import).yaml;
  EXPECT_THAT(yaml, HasSubstr("  - {name: gpu0}  # 0000:15:00.0\n"));
  EXPECT_THAT(
      yaml, HasSubstr("  - {between: [host0, host1], bandwidth: 16GB/s, latency: 0.5us, medium: socket}\n"));
  EXPECT_THAT(
      yaml,
      HasSubstr("  - {between: [nic0, host1], bandwidth: 24GB/s, latency: 0.5us, medium: host_bridge}\n"));
}

// A file without <gpu>: GPUs and NICs by their class, GPUs numbered by their addresses (0001, 0002, 0003
// ...).
TEST(ImportNcclXml, ATreeOnly) {
  auto import = from(fixture("topo_file.xml"));
  import.nic_bandwidth = BytesPerSecond(25e9);
  auto yaml = import_nccl_xml(import).yaml;
  EXPECT_THAT(yaml,
              HasSubstr("# The file holds no NVLinks, which NCCL finds when it runs: no NVLink joins GPUs"));
  EXPECT_THAT(yaml, HasSubstr("nic0 is 0103:00:00.0"));
  EXPECT_THAT(yaml, HasSubstr("affinity: [1, 1, 0, 0, 3, 3, 2, 2]"));
  auto cluster = imported(import);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      EXPECT_EQ(link_type(*cluster, a, b), a == b ? "X" : a / 2 == b / 2 ? "PIX" : "SYS");
  expect_figures(cluster->route(0, 7), 16e9, 2.5e-6);
}

// NVLink-C2C, 10 x 45 GB/s, instead of PCIe; ARM CPUs are joined by 6 GB/s.
TEST(ImportNcclXml, ChipToChip) {
  auto graph = imported(from(fixture("dump_c2c.xml")));
  EXPECT_EQ(testing::shown(*graph), words_of("X SYS\nSYS X\n"));
  EXPECT_THAT(testing::way(*graph, 0, 1), ElementsAre("gpu0>host0", "host0>host1", "host1>gpu1"));
  EXPECT_DOUBLE_EQ(graph->link(graph->route(0, 1).links[0]).bandwidth.value(), 450e9);
  expect_figures(graph->route(0, 1), 6e9, 1.1e-6);
}

// NVLinks between GPUs and to the CPU, which is in two elements here; between the CPUs 32 GB/s.
TEST(ImportNcclXml, NvlinksToTheCpu) {
  testing::TemporaryFolder folder;
  auto gpu = [](int dev, int other) {
    auto text = [](int number) { return "000" + std::to_string(number) + ":01:00.0"; };
    std::string to_cpu = "<nvlink target=\"0006:00:00.0\" count=\"2\" tclass=\"0x068001\"/>";
    return "<pci busid=\"" + text(dev) +
           "\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"><gpu dev=\"" + std::to_string(dev) +
           "\" sm=\"70\"><nvlink target=\"" + text(other) + "\" count=\"3\" tclass=\"0x030200\"/>" + to_cpu +
           to_cpu + "</gpu></pci>";
  };
  auto cpu = [](int numa, const std::string& gpus) {
    return "<cpu numaid=\"" + std::to_string(numa) + "\" arch=\"ppc64\">" + gpus + "</cpu>";
  };
  auto path = folder.write(
      "t.xml", "<system>" + cpu(0, gpu(0, 1) + gpu(1, 0)) + cpu(8, gpu(2, 3) + gpu(3, 2)) + "</system>");
  auto graph = imported(from(path));
  EXPECT_EQ(testing::shown(*graph), words_of("X NV3 SYS SYS\nNV3 X SYS SYS\nSYS SYS X NV3\nSYS SYS NV3 X\n"));
  expect_figures(graph->route(0, 1), 75e9, 0.3e-6);
  expect_figures(graph->route(0, 2), 32e9, 1.1e-6);
  EXPECT_DOUBLE_EQ(graph->link(graph->route(0, 2).links[0]).bandwidth.value(), 100e9);
}

std::string system_of(
    const std::string& gpu,
    const std::string& cpu = "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\"") {
  auto one = [&](int numa) {
    auto n = std::to_string(numa);
    return "<cpu numaid=\"" + n + "\" " + cpu + "><pci busid=\"000" + n + ":01:00.0\" class=\"0x030200\" " +
           gpu + "></pci></cpu>";
  };
  return "<system version=\"1\">" + one(0) + one(1) + "</system>";
}

BytesPerSecond between(const std::string& gpu, const std::string& cpu, const TopologyImport& options = {}) {
  testing::TemporaryFolder folder;
  auto import = options;
  import.path = folder.write("t.xml", system_of(gpu, cpu));
  return imported(import)->route(0, 1).bandwidth;
}

// NCCL's own numbers: GB/s of an x16 slot are 3, 6, 12, 24, 48 and 96.
TEST(ImportNcclXml, SpeedsOfPcie) {
  const std::string arch = "arch=\"none\"";
  TopologyImport emerald;
  emerald.cpu = HostCpu::emerald_rapids;  // 40 GB/s
  auto gbps = [&](const std::string& speed, int width) {
    return between("link_speed=\"" + speed + "\" link_width=\"" + std::to_string(width) + "\"", arch, emerald)
               .value() /
           1e9;
  };
  EXPECT_DOUBLE_EQ(gbps("2.5 GT/s", 16), 3);
  EXPECT_DOUBLE_EQ(gbps("5 GT/s", 16), 6);
  EXPECT_DOUBLE_EQ(gbps("8.0 GT/s PCIe", 16), 12);
  EXPECT_DOUBLE_EQ(gbps("16.0 GT/s PCIe", 0), 24);
  EXPECT_DOUBLE_EQ(gbps("32 GT/s", 8), 24);
  EXPECT_DOUBLE_EQ(gbps("64.0 GT/s PCIe", 4), 24);
  emerald.pcie_generation = 4;
  EXPECT_DOUBLE_EQ(between("", arch, emerald).value(), 24e9);
  EXPECT_DOUBLE_EQ(between("link_speed=\"Unknown\"", arch, emerald).value(), 24e9);
  EXPECT_DOUBLE_EQ(between("link_speed=\"8 GT/s\"", arch, emerald).value(), 12e9);
}

TEST(ImportNcclXml, LinksBetweenSockets) {
  const std::string fast = "link_speed=\"64 GT/s\"";
  auto intel = [&](int model) {
    return between(fast, "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"" +
                             std::to_string(model) + "\"")
               .value() /
           1e9;
  };
  EXPECT_DOUBLE_EQ(intel(79), 6);    // Broadwell
  EXPECT_DOUBLE_EQ(intel(85), 10);   // Skylake
  EXPECT_DOUBLE_EQ(intel(143), 22);  // Sapphire Rapids
  EXPECT_DOUBLE_EQ(intel(207), 40);  // Emerald Rapids
  EXPECT_DOUBLE_EQ(between(fast, "arch=\"x86_64\" vendor=\"AuthenticAMD\"").value(), 16e9);
  EXPECT_DOUBLE_EQ(between(fast, "arch=\"arm64\"").value(), 6e9);
  EXPECT_DOUBLE_EQ(between(fast, "arch=\"ppc64\"").value(), 32e9);
  EXPECT_DOUBLE_EQ(between(fast, "").value(), 10e9);  // assumed
}

TEST(ImportNcclXml, WhereTheFigureBetweenSocketsIsFrom) {
  auto import = from(fixture("dump_pcie.xml"));
  EXPECT_THAT(import_nccl_xml(import).notes,
              Contains("between sockets: 16 GB/s per direction, as NCCL counts amd (AMD_BW in "
                       "src/graph/topo.h); --socket-bandwidth sets another"));
  import.socket_bandwidth = BytesPerSecond(7e9);  // before what the CPU of the file says
  expect_figures(imported(import)->route(3, 4), 7e9, 1.5e-6);
  EXPECT_THAT(import_nccl_xml(import).notes, Not(Contains(HasSubstr("sockets"))));
}

TEST(ImportNcclXml, RatesOfNvlink) {
  auto rate = [](int sm) { return gpu_figures_of_sm(sm)->nvlink.value() / 1e9; };
  EXPECT_DOUBLE_EQ(rate(60), 20);
  EXPECT_DOUBLE_EQ(rate(70), 25);
  EXPECT_DOUBLE_EQ(rate(80), 25);
  EXPECT_DOUBLE_EQ(rate(86), 14.0625);
  EXPECT_DOUBLE_EQ(rate(90), 25);
  EXPECT_DOUBLE_EQ(rate(103), 50);
  EXPECT_EQ(gpu_figures_of_sm(50), nullptr);
  EXPECT_EQ(gpu_figures_of_sm(130), nullptr);
}

TEST(ImportNcclXml, TheSameBytesAgain) {
  for (const char* name : {"dump_nvswitch.xml", "dump_v100_mesh.xml", "dump_pcie.xml", "dump_c2c.xml"})
    EXPECT_EQ(import_nccl_xml(from(fixture(name))).yaml, import_nccl_xml(from(fixture(name))).yaml);
}

}  // namespace
}  // namespace ddpsim
