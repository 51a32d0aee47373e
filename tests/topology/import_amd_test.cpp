// AMD's nodes, as RCCL's XML and rocm-smi describe them.
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
using ::testing::Not;
using testing::shown;

TopologyImport of_board(const std::string& path, std::string_view name) {
  auto import = from(path);
  for (const auto& board : kAmdBoards)
    if (board.name == name) import.amd = AmdGpu{&architecture_of(board), &board};
  return import;
}

// Two links of 64 GB/s between any two, and a NIC below the switch of each.
TEST(ImportAmd, MeshOfRccl) {
  auto import = from(fixture("amd/dump_xgmi.xml"));
  auto topology = import_nccl_xml(import);
  EXPECT_EQ(topology.summary, "4 GPUs, 4 NICs (kind: cluster)");
  EXPECT_FALSE(topology.has_nccl);
  EXPECT_TRUE(topology.is_amd);
  EXPECT_THAT(topology.yaml, HasSubstr("kind: cluster\n"
                                       "gpu: mi300x\n"
                                       "node:\n"
                                       "  gpus: 4\n"
                                       "  interconnect:\n"
                                       "    kind: xgmi_mesh\n"
                                       "    bandwidth: 64GB/s\n"));
  EXPECT_THAT(topology.yaml,
              HasSubstr("  nics: {count: 4, bandwidth: 200Gbps, latency: 5us, affinity: [0, 1, 2, 3]"));
  EXPECT_THAT(topology.yaml, HasSubstr("(gcn gfx942)"));
  EXPECT_THAT(topology.yaml, Not(HasSubstr("nccl:")));
  EXPECT_TRUE(testing::read_text(topology.yaml)->has_xgmi);
  auto cluster = imported(import);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) EXPECT_EQ(link_type(*cluster, a, b), a == b ? "X" : "XGMI2");
  expect_figures(cluster->route(0, 3), 128e9, 0.3e-6);
}

// Dies of MI250X, of 110 compute units: 4, 2 and 1 links of 50 GB/s, and PCIe of generation 4, 24 GB/s, to
// the CPU and back (four links of 0.5 us) between those that have none. Older files write 910 for gfx90a.
TEST(ImportAmd, DiesJoinedByDifferentNumbersOfLinks) {
  auto import = from(fixture("amd/dump_dies.xml"));
  EXPECT_THAT(import_nccl_xml(import).yaml, HasSubstr("gpu: mi250x\n"));
  auto cluster = imported(import);
  EXPECT_EQ(shown(*cluster), (testing::Words{{"X", "XGMI4", "XGMI", "PHB"},
                                             {"XGMI4", "X", "PHB", "XGMI2"},
                                             {"XGMI", "PHB", "X", "XGMI4"},
                                             {"PHB", "XGMI2", "XGMI4", "X"}}));
  expect_figures(cluster->route(0, 1), 200e9, 0.3e-6);
  expect_figures(cluster->route(1, 3), 100e9, 0.3e-6);
  expect_figures(cluster->route(2, 0), 50e9, 0.3e-6);
  expect_figures(cluster->route(0, 3), 24e9, 2e-6);
}

// 104 compute units are those of an MI250, which has the same device id and no file in gpus/.
TEST(ImportAmd, BoardsByTheirComputeUnits) {
  auto text = testing::contents(fixture("amd/dump_dies.xml"));
  for (auto at = text.find("sm=\"110\""); at != std::string::npos; at = text.find("sm=\"110\""))
    text.replace(at, 8, "sm=\"104\"");
  testing::TemporaryFolder folder;
  auto yaml = import_nccl_xml(from(folder.write("t.xml", text))).yaml;
  EXPECT_THAT(yaml, Not(HasSubstr("gpu: ")));
  EXPECT_THAT(yaml, HasSubstr("of cdna2 (gcn"));
}

// Two hives of two: 64 GB/s within one; between them the PCIe of each, 48 GB/s, and what AMD's sockets have
// between them, 16 GB/s: five links of 0.5 us.
TEST(ImportAmd, HivesOfRocmSmi) {
  auto import = of_board(fixture("amd/showtopo_hives.txt"), "mi300x");
  import.cpu = HostCpu::amd;
  auto topology = import_rocm_smi(import);
  EXPECT_THAT(topology.notes, Contains(HasSubstr("one each is assumed")));
  auto cluster = imported(import);
  EXPECT_EQ(shown(*cluster), (testing::Words{{"X", "XGMI", "SYS", "SYS"},
                                             {"XGMI", "X", "SYS", "SYS"},
                                             {"SYS", "SYS", "X", "XGMI"},
                                             {"SYS", "SYS", "XGMI", "X"}}));
  expect_figures(cluster->route(0, 1), 64e9, 0.3e-6);
  expect_figures(cluster->route(0, 2), 16e9, 2.5e-6);
  import.pcie_generation = 3;  // 12 GB/s
  expect_figures(imported(import)->route(0, 2), 12e9, 2.5e-6);
}

// xGMI that reaches a GPU by way of another one is no link: RCCL counts one hop only.
TEST(ImportAmd, SeveralHopsAreNoLink) {
  testing::TemporaryFolder folder;
  auto import = of_board(folder.write("t.txt",
                                      "= Hops between two GPUs =\n"
                                      "      GPU0 GPU1 GPU2\n"
                                      "GPU0  0    1    2\n"
                                      "GPU1  1    0    1\n"
                                      "GPU2  2    1    0\n"
                                      "= Link Type between two GPUs =\n"
                                      "      GPU0 GPU1 GPU2\n"
                                      "GPU0  0    XGMI XGMI\n"
                                      "GPU1  XGMI 0    XGMI\n"
                                      "GPU2  XGMI XGMI 0\n"
                                      "= Numa Nodes =\n"
                                      "GPU 0 : (Topology) Numa Node: 0\n"),
                         "mi355x");
  EXPECT_THAT(import_rocm_smi(import).notes, Contains(HasSubstr("by way of other GPUs only: GPU0-GPU2")));
  EXPECT_EQ(shown(*imported(import)),
            (testing::Words{{"X", "XGMI", "PHB"}, {"XGMI", "X", "XGMI"}, {"PHB", "XGMI", "X"}}));
  expect_figures(imported(import)->route(0, 1), 76.8e9, 0.3e-6);
}

}  // namespace
}  // namespace ddpsim
