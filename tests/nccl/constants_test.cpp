// Every constant of every release against constants.csv, which was read off NCCL's sources (its header says
// where). Left out, because nothing here counts with them: bandwidths of sockets, PCIe and plain networks
// (AMD_BW ... ZPI_BW, NET_BW, PCI_BW, LOC_BW, INTEL_P2P_OVERHEAD: links have those of the topology), NVLinks
// of GPUs that are no `Gpu` (SM60, SM86), chunks of NVLS (its kernels are not modelled), and the kernels of
// symmetric memory (sym_model), which take registered windows.
#include "sim/nccl/constants.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/base/csv.hpp"
#include "sim/nccl/p2p.hpp"
#include "sim/nccl/tuner_formulas.hpp"

#include "tests/nccl/communicators.hpp"

namespace ddpsim::nccl {
namespace {

using Values = std::vector<double>;

template <class Word>
std::size_t place(const std::vector<std::string>& words, const Word& word) {
  auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw std::logic_error(std::string("unknown: ") + word);
  return static_cast<std::size_t>(found - words.begin());
}

const std::vector<std::string> kHardware{"nvlink", "pci", "net"};
const std::vector<std::string> kNames{"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                      "nvls_tree", "pat"};
const std::vector<std::string> kProtocolWords{"ll", "ll128", "simple"};
const std::vector<std::string> kGenerations{"volta", "ampere", "hopper", "blackwell"};
const std::vector<std::string> kNodes{"1node", "2nodes", "4nodes"};
const std::vector<std::string> kThresholds{"of_part", "of_channels_a_peer", "of_channels_in_use"};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// Constants that are lines of code.
double by_code(const Constants& c, Version version, const std::string& name) {
  if (name == "ring_ll_busbw.all_reduce") return c.ring_ll_share;
  if (name == "ring_ll_busbw.all_gather_in_a_node") return c.ring_ll_share_in_node;
  if (name == "ring_ll128_busbw.less_than_two_gpus_a_node") return c.lone_gpu_ll128;
  if (name == "tree_pattern_085") return c.plain_tree;
  if (name == "nvls_ratio") return c.nvls_ratio;
  if (name == "pat_busbw") return c.pat_share;
  if (name == "nvls_needs_gpus") return c.nvls_least_gpus;
  if (name == "nvls_tree_correction") return c.corrects_nvls_tree;
  if (name == "knows_blackwell") return c.newest >= Generation::blackwell;
  if (name == "p2p_part.across_nodes") return c.p2p_least_part_across_nodes;
  if (name == "nvls_tree_latency.network_steps_four_nodes") return c.nvls_tree_is_a_tree ? 2 * 2 : 2 * 3;
  if (name == "inter_steps.four_nodes") {  // each takes a microsecond more
    auto usual = h100s(4, version), slow = usual;
    slow.tuner_nic_latency = Seconds(1e-6);
    auto latency = [](const Communicator& communicator) {
      return TunerFormulas(communicator, Operation::all_reduce).latency(Algorithm::ring, Protocol::ll);
    };
    return latency(slow) - latency(usual);
  }
  throw std::logic_error("a constant that nobody compares: " + name);
}

Values values_of(const Constants& c, Version version, const std::string& name) {
  auto parts = split(name, '.');
  const auto& head = parts.front();
  auto by_gpu = [&](const Constants::ByGpu& table) -> Values {
    auto row = head == "llMaxBw_GBps" && parts[1].starts_with("volta")    ? 0
               : head == "llMaxBw_GBps" && parts[1].starts_with("ampere") ? 1
                                                                          : place(kGenerations, parts[1]);
    return {table.at(row).at(place(kNodes, parts[2]))};
  };
  auto speeds = [&](Generation gpu, bool across) {
    return c.speeds.at(static_cast<std::size_t>(gpu)).at(across ? 1 : 0);
  };
  bool across = head.ends_with("Inter");
  if (head == "baseLatency_us")
    return {c.base_latency.at(place(kNames, parts[1])).at(place(kProtocolWords, parts[2]))};
  if (head == "hwLatency_us")
    return {c.step_latency.at(place(kHardware, parts[1]))
                .at(place(kNames, parts[2]))
                .at(place(kProtocolWords, parts[3]))};
  if (head == "llMaxBw_GBps") return by_gpu(c.ll_max);
  if (head == "perChMaxRingLL128Bw_GBps") return by_gpu(c.ring_ll128_max);
  if (head == "perChMaxTreeLL128Bw_GBps") return by_gpu(c.tree_ll128_max);
  if (head == "perChMaxTreeBw_GBps") return by_gpu(c.tree_max);
  if (head == "perChMaxNVLSTreeBw_GBps") return by_gpu(c.nvls_tree_max);
  if (head == "ll128MaxBwPerCh_GBps") return {c.ring_ll128_max.at(place(kGenerations, parts[1])).at(2)};
  if (head == "nvlsEfficiency") return {c.nvls_efficiency.at(place(kGenerations, parts[1]))};
  if (head == "treeCorrectionFactor") {
    auto protocol = static_cast<Protocol>(place(kProtocolWords, parts[1]));
    Values shares;
    for (int power = 0; power < c.tree_corrections; ++power)
      shares.push_back(tree_correction(c, protocol, Bytes(64.0 * std::pow(2, power))));
    // Beyond its table a tree keeps all of it.
    EXPECT_EQ(tree_correction(c, protocol, Bytes(64.0 * std::pow(2, c.tree_corrections))), 1);
    while (shares.size() > 22 && shares.back() == 1) shares.pop_back();
    return shares;
  }
  if (head.starts_with("speedArray")) return speeds(Generation::volta, across);
  if (head.starts_with("sm90Speed")) return speeds(Generation::hopper, across);
  if (head.starts_with("sm100Speed")) return speeds(Generation::blackwell, across);
  if (head == "SM70_NVLINK_BW") return {c.nvlink[0]};
  if (head == "SM80_NVLINK_BW") return {c.nvlink[1]};
  if (head == "SM90_NVLINK_BW") return {c.nvlink[2]};
  if (head == "SM100_NVLINK_BW") return {c.nvlink[3]};
  if (head == "MAXCHANNELS") return {1.0 * c.max_channels};
  if (head == "NCCL_MAX_NVLS_ARITY") return {1.0 * c.nvls_heads};
  if (head == "NvlsChannels" || head == "NVLS_NCHANNELS_SM90") return {1.0 * c.nvls_ctas[0]};
  if (head == "NVLS_NCHANNELS_SM100") return {1.0 * c.nvls_ctas[1]};
  if (head == "NVLS_NCHANNELS_SM100_NVL") return {1.0 * c.nvls_ctas[2]};
  if (head == "p2p_ll_threshold") return {static_cast<double>(c.p2p_low_latency)};
  if (head.starts_with("P2p")) {  // the chunk of a message that fills every channel
    auto communicator = head == "P2pNetChunkSize" ? h100s(2, version) : h100s(1, version);
    communicator.nvlink = head != "P2pPciChunkSize";
    return {p2p_plan(communicator, Bytes(1e9)).chunk.value()};
  }
  return {by_code(c, version, name)};
}

Values expected_of(const std::string& name, const std::string& text) {
  if (name == "p2p_ll_threshold") return {static_cast<double>(place(kThresholds, text))};
  Values values;
  for (const auto& part : split(text, ' ')) values.push_back(std::stod(part));
  if (name.starts_with("treeCorrectionFactor"))
    while (values.size() > 22 && values.back() == 1) values.pop_back();
  return values;
}

struct Table {
  std::vector<Version> releases;
  std::map<std::string, std::map<Version, std::string>> constants;
};

Table read_table() {
  auto csv = read_csv(DDPSIM_SOURCE_DIR "/tests/nccl/constants.csv", "constants");
  Table table;
  for (const auto& comment : csv.comments)
    if (comment.key.text == "releases")
      for (const auto& word : split(comment.value.text, ' '))
        table.releases.push_back(parse_version(word).value());
  for (const auto& row : csv.rows)
    table.constants[row[0].text][parse_version(row[1].text).value()] = row[2].text;
  return table;
}

TEST(Constants, OfEveryRelease) {
  auto table = read_table();
  EXPECT_EQ(table.releases, (std::vector<Version>{kReleases.begin(), kReleases.end()}));
  EXPECT_GT(table.constants.size(), 180U);
  int checked = 0;
  for (const auto& [name, history] : table.constants)
    for (auto version : table.releases) {
      auto since = history.upper_bound(version);
      if (since == history.begin()) continue;
      const auto& text = std::prev(since)->second;
      if (text.empty() || text == "-2") continue;  // gone, or left to NVLS_NCHANNELS_...
      auto found = values_of(constants(version), version, name), expected = expected_of(name, text);
      ASSERT_EQ(found.size(), expected.size()) << name << ", " << nccl::name(version);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-9) << name << ", " << nccl::name(version);
      ++checked;
    }
  EXPECT_GT(checked, 4700);  // of 186 names x 31 releases; some constants came or went
}

// Every release that changed something is among those that were read, each once and in order.
TEST(Constants, AReleaseThatIsNoTagHasThoseOfTheOneBefore) {
  EXPECT_EQ(&constants({2, 26, 9}), &constants({2, 26, 6}));
  EXPECT_EQ(&constants({2, 27, 4}), &constants({2, 27, 3}));
  EXPECT_NE(&constants({2, 27, 5}), &constants({2, 27, 3}));
  EXPECT_EQ(&constants({2, 18, 2}), &constants({2, 18, 1}));
  EXPECT_THROW((void)constants({2, 18, 0}), InternalError);
}

// minCompCap >= 90 before 2.25.1: Hopper's rows, speeds and NVLinks, and `default: pEnable &= 0` for LL128.
TEST(Constants, BlackwellIsHopperToReleasesThatDoNotKnowIt) {
  const auto& before = constants({2, 24, 3});
  EXPECT_EQ(before.tree_max[3], before.tree_max[2]);
  EXPECT_EQ(before.ll_max[3], before.ll_max[2]);
  EXPECT_EQ(before.speeds[3], before.speeds[2]);
  EXPECT_DOUBLE_EQ(nvlink_share({2, 24, 3}, Gpu::blackwell), 20.6 / 50);
  EXPECT_DOUBLE_EQ(nvlink_share({2, 25, 1}, Gpu::blackwell), 40.0 / 50);
  EXPECT_FALSE(has_ll128({2, 24, 3}, Gpu::blackwell));
  EXPECT_TRUE(has_ll128({2, 25, 1}, Gpu::blackwell));
}

// tuning.cc of 2.26.2 lists 70, 80, 90, 100 and 120; 2.27.3 asks for 70 or more.
TEST(Constants, AdaHasLl128Since227) {
  EXPECT_FALSE(has_ll128({2, 26, 6}, Gpu::ada));
  EXPECT_TRUE(has_ll128({2, 27, 3}, Gpu::ada));
}

}  // namespace
}  // namespace ddpsim::nccl
