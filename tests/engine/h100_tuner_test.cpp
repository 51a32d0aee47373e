// What NCCL 2.27.5's own log says of H100s, 190 estimates (tests/nccl/h100_tuner.csv): the ring search, the
// patterns of trees, the heads of NVLSTree and the tuner's formulas at once.
#include <gtest/gtest.h>

#include "sim/base/csv.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/nccl/tuner.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim {
namespace {

template <class Names>
auto value_named(const Names& names, const std::string& name) {
  for (const auto& [word, value] : names)
    if (word == name) return value;
  throw std::logic_error("no such name: " + name);
}

// By hand: a ring of 16 GPUs has 8 channels of 48 GB/s, since of its 16 hops 14 are on NVLink, 7 a node, and
// 7 x 48 are less than NVLink's 18 x 20.6: 8 x 48 x 16 / 30 = 204.8 GB/s of an all-reduce.
TEST(H100Tuner, SaysWhatNcclLogs) {
  auto table = read_csv(DDPSIM_SOURCE_DIR "/tests/nccl/h100_tuner.csv", "estimates");
  auto topology = testing::preset("superpod-h100");
  auto platform = *topology->nccl;
  platform.version = {2, 27, 5};
  int rows = 0;
  for (const auto& row : table.rows) {
    auto cell = [&](const char* name) { return row[table.column(name)].text; };
    int nodes = std::stoi(cell("nodes")), of_node = std::stoi(cell("gpus_per_node"));
    auto cluster = topology->build(8 * nodes);
    std::vector<int> gpus;
    for (int gpu = 0; gpu < cluster->gpus(); ++gpu)
      if (gpu % 8 < of_node) gpus.push_back(gpu);
    nccl::Tuner tuner(nccl_communicator(*cluster, gpus, platform), {},
                      {value_named(kOperationNames, cell("operation"))});
    const auto* found = tuner.find(value_named(nccl::kAlgorithmNames, cell("algorithm")),
                                   value_named(nccl::kProtocolNames, cell("protocol")));
    auto what = cell("operation") + " " + cell("algorithm") + " " + cell("protocol") + " on " +
                cell("nodes") + " x " + cell("gpus_per_node");
    ASSERT_TRUE(found) << what;
    EXPECT_NEAR(found->latency.value() * 1e6, std::stod(cell("latency_us")), 0.0501) << what;
    EXPECT_NEAR(found->algbw.value() / 1e9, std::stod(cell("algbw_GBps")), 0.0501) << what;
    ++rows;
  }
  EXPECT_EQ(rows, 190);
}

}  // namespace
}  // namespace ddpsim
