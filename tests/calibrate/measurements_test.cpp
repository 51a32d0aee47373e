// The published tables under measurements/: every file is read, and holds what its source says.
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "sim/calibrate/collective_table.hpp"

namespace ddpsim::calibrate {
namespace {

const std::string kFolder = DDPSIM_SOURCE_DIR "/measurements/";

struct Expected {
  int tables, rows, ranks, nodes;  // of the first table; 0: not known
  const char* nccl_version;
};

const std::map<std::string, Expected> kFiles{
    {"aiconfigurator_a100_sxm.csv", {24, 21, 2, 1, "2.27.3"}},
    {"aiconfigurator_b300_sxm.csv", {120, 21, 2, 1, "2.29.2"}},
    {"aiconfigurator_gb300.csv", {80, 21, 2, 1, "2.29.2"}},
    {"aiconfigurator_h100_sxm.csv", {72, 21, 2, 1, "2.29.2"}},
    {"aiconfigurator_h100_sxm_2.23.csv", {18, 19, 2, 1, "2.23"}},
    {"aiconfigurator_l40s.csv", {24, 21, 2, 1, "2.27.3"}},
    {"aws_p3dn_16xV100_EFA.csv", {1, 28, 16, 2, "2.4.8"}},
    {"cesga_2xA100-PCIe_1node.csv", {1, 5, 2, 1, "2.28.9"}},
    {"cesga_2xA100-PCIe_2nodes.csv", {1, 5, 2, 2, "2.28.9"}},
    {"cesga_4xA100-PCIe_2nodes.csv", {1, 5, 4, 2, "2.28.9"}},
    {"coreweave_GB200_128gpu_2rack.csv", {1, 6, 128, 2, "2.26.2"}},
    {"coreweave_GB200_1440gpu_20rack.csv", {1, 6, 1440, 20, "2.26.2"}},
    {"coreweave_GB200_72gpu_1rack.csv", {1, 5, 72, 1, "2.26.2"}},
    {"dgxh100_8xH100_dgxc_benchmarking.csv", {1, 32, 8, 1, ""}},
    {"galvatron_8xA100-40GB.csv", {1, 11, 8, 1, ""}},
    {"galvatron_sp_time_8xA100-40GB.json", {3, 11, 8, 1, ""}},
    {"gcp_a3mega_16xH100.csv", {1, 31, 16, 2, ""}},
    {"kalavai_4xRTX4090.csv", {1, 23, 4, 1, ""}},
    {"nccltests_issue309_A_16xH100_IB400_default.csv", {1, 32, 16, 2, "2.26.2"}},
    {"nccltests_issue309_A_32xH100_IB400_default.csv", {1, 32, 32, 4, "2.26.2"}},
    {"nccltests_issue309_B_16xH100_IB400_RING_MINCTAS24_QPS2.csv", {1, 14, 16, 2, ""}},
    {"nccltests_issue309_B_16xH100_IB400_default.csv", {1, 14, 16, 2, ""}},
    {"nccltests_issue309_B_32xH100_IB400_default.csv", {1, 14, 32, 4, ""}},
    {"stas00_8xA100.csv", {1, 20, 8, 1, ""}},
    {"raw/aws_p3dn_16xV100_EFA.txt", {1, 28, 0, 0, ""}},
    {"raw/galvatron_8xA100-40GB.txt", {1, 11, 0, 0, ""}},
    {"raw/gcp_a3mega_2x8H100.txt", {1, 31, 16, 2, ""}},
    {"raw/kalavai_4xRTX4090.txt", {1, 23, 0, 0, ""}},
    {"raw/nccltests_issue309_A_16xH100_IB400_default.txt", {1, 32, 0, 0, ""}},
};

CollectiveTable only(const std::string& name) {
  auto tables = read_collective_tables(kFolder + name);
  EXPECT_EQ(tables.size(), 1U);
  return tables.at(0);
}

const std::set<std::filesystem::path> kOthers{".md", ".py", ".yaml"};  // beside the tables

Seconds time_of(const CollectiveTable& table, double bytes) {
  for (const auto& row : table.rows)
    if (row.bytes == Bytes(bytes)) return row.out_of_place;
  ADD_FAILURE() << table.title << " has no size " << bytes;
  return {};
}

TEST(Measurements, EveryFileIsReadAndExpected) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    auto name = std::filesystem::relative(entry.path(), kFolder).string();
    if (name.starts_with("gloo/") || name.starts_with("training/") || name.starts_with("fabrics/") ||
        name.starts_with("h200/") || name.starts_with("h100/") || name.starts_with("deepspeed/") ||
        name.starts_with("transports/") || name.starts_with("deepep/") || name.starts_with("memory/") ||
        name.starts_with("attention/") || name.starts_with("recorded/"))
      continue;  // others read them
    if (entry.is_directory() || kOthers.contains(entry.path().extension())) continue;
    ASSERT_TRUE(kFiles.contains(name)) << name;
    const auto& expected = kFiles.at(name);
    auto tables = read_collective_tables(entry.path().string());
    EXPECT_EQ(tables.size(), expected.tables) << name;
    EXPECT_EQ(tables[0].ranks.value_or(0), expected.ranks) << name;
    EXPECT_EQ(tables[0].nodes.value_or(0), expected.nodes) << name;
    EXPECT_EQ(tables[0].nccl_version.value_or(""), expected.nccl_version) << name;
    for (const auto& table : tables) EXPECT_EQ(table.rows.size(), expected.rows) << table.title;
    ++found;
  }
  EXPECT_EQ(found, kFiles.size());
}

// The transcriptions say what the console said.
TEST(Measurements, RawTextsAgreeWithTheirTables) {
  const std::map<std::string, std::string> pairs{
      {"aws_p3dn_16xV100_EFA.csv", "raw/aws_p3dn_16xV100_EFA.txt"},
      {"galvatron_8xA100-40GB.csv", "raw/galvatron_8xA100-40GB.txt"},
      {"gcp_a3mega_16xH100.csv", "raw/gcp_a3mega_2x8H100.txt"},
      {"kalavai_4xRTX4090.csv", "raw/kalavai_4xRTX4090.txt"},
      {"nccltests_issue309_A_16xH100_IB400_default.csv",
       "raw/nccltests_issue309_A_16xH100_IB400_default.txt"}};
  for (const auto& [csv, raw] : pairs) {
    auto table = only(csv), printed = only(raw);
    ASSERT_EQ(table.rows.size(), printed.rows.size()) << csv;
    EXPECT_EQ(table.data_type, printed.data_type);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      EXPECT_EQ(table.rows[i].bytes, printed.rows[i].bytes) << csv;
      EXPECT_EQ(table.rows[i].out_of_place, printed.rows[i].out_of_place) << csv;
      EXPECT_EQ(table.rows[i].in_place, printed.rows[i].in_place) << csv;
    }
  }
}

TEST(Measurements, SpotValues) {
  EXPECT_DOUBLE_EQ(time_of(only("gcp_a3mega_16xH100.csv"), 0x1p33).value(), 47535e-6);
  EXPECT_DOUBLE_EQ(time_of(only("stas00_8xA100.csv"), 0x1p34).value(), 127997e-6);
  EXPECT_DOUBLE_EQ(time_of(only("dgxh100_8xH100_dgxc_benchmarking.csv"), 0x1p20).value(), 27.37e-6);
  EXPECT_DOUBLE_EQ(time_of(only("cesga_4xA100-PCIe_2nodes.csv"), 435572744).value(), 42.88351535797119e-3);
  // 268435456 elements of half are 512 MiB: at 8 GPUs 1.75 * 536870912 B / 4.2259 ms = 222 GB/s of bus
  // bandwidth.
  auto a100 = read_collective_tables(kFolder + "aiconfigurator_a100_sxm.csv");
  EXPECT_EQ(a100[2].title, "aiconfigurator_a100_sxm.csv, 8 GPUs, all_reduce, half");
  EXPECT_DOUBLE_EQ(time_of(a100[2], 0x1p29).value(), 4.2259e-3);
  // Two sources for the same machines: Galvatron's own table is nccl-tests' within 2.5 %.
  auto profile = read_collective_tables(kFolder + "galvatron_sp_time_8xA100-40GB.json")[0];
  for (const auto& row : only("galvatron_8xA100-40GB.csv").rows)
    EXPECT_NEAR(time_of(profile, row.bytes.value()) / row.out_of_place, 1, 0.025);
}

}  // namespace
}  // namespace ddpsim::calibrate
