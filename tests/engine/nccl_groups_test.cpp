// Several groups under NCCL's model, what a scenario forces, and what else a scenario may hold beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/nccl_communicator.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

using nccl::Algorithm;
using nccl::Protocol;
using ::testing::ElementsAre;

double only_time(const Timeline& timeline, int rank) {
  auto all = durations(of_rank(timeline, rank));
  EXPECT_EQ(all.size(), 1U);
  return all.front();
}

// Two groups of eight that are alike to DDP: one has a node for itself, the other is spread over two.
NcclCase within_and_across() {
  NcclCase scenario;
  scenario.topology = kH100s;
  scenario.world_size = 24;
  scenario.cluster =
      ", groups: [{ranks: {from: 0, to: 7}}, {ranks: [8, 9, 10, 11, 16, 17, 18, 19]}, "
      "{ranks: [12, 13, 14, 15, 20, 21, 22, 23]}]";
  return scenario;
}

TEST(NcclGroups, AreToldApartByTheirCommunicators) {
  auto scenario = within_and_across().read();
  EXPECT_THAT(scenario.communication->labels, ElementsAre(0, 1, 1));
  EXPECT_EQ(choices(scenario, 0).front().candidate->algorithm, Algorithm::nvls);
  EXPECT_EQ(choices(scenario, 1).front().candidate->algorithm, Algorithm::nvls_tree);
  EXPECT_EQ(choices(scenario, 1).front().time, choices(scenario, 2).front().time);
}

// They share no link: each takes what its own model says.
TEST(NcclGroups, EachTakesItsOwnTime) {
  auto scenario = within_and_across().read();
  for (auto fidelity : {Fidelity::closed_form, Fidelity::lazy, Fidelity::folded, Fidelity::exact}) {
    auto timeline = simulate(scenario, fidelity);
    auto name = fidelity_name(fidelity);
    double within = choices(scenario, 0).front().time.value();
    double across = choices(scenario, 1).front().time.value();
    EXPECT_GT(across, 1.1 * within);
    EXPECT_NEAR(only_time(timeline, 0), within, 1e-9 * within) << name;
    EXPECT_NEAR(only_time(timeline, 8), across, 1e-9 * across) << name;
    EXPECT_EQ(timeline.last_to_finish().rank, 8) << name;
  }
}

// A group that starts later, or is slower, is another one whatever its communicator.
TEST(NcclGroups, KeepWhatDdpTellsApart) {
  NcclCase scenario;
  scenario.world_size = 32;
  scenario.cluster =
      ", groups: [{ranks: {from: 0, to: 7}}, {ranks: {from: 8, to: 15}, offset: 1ms}, "
      "{ranks: {from: 16, to: 23}}, {ranks: {from: 24, to: 31}}]";
  scenario.workload = ", stragglers: [{rank: 16, slowdown: 2}]";
  EXPECT_THAT(scenario.read().communication->labels, ElementsAre(0, 1, 2, 0));
}

// A slower NIC changes what the search finds in its group only.
TEST(NcclGroups, ADegradedNodeIsAGroupOfItsOwn) {
  NcclCase scenario;
  scenario.world_size = 32;
  scenario.cluster =
      ", groups: [{ranks: {from: 0, to: 15}}, {ranks: {from: 16, to: 31}}], "
      "overrides: [{link: node3.nic1, bandwidth: 1GB/s}]";
  auto read = scenario.read();
  EXPECT_THAT(read.communication->labels, ElementsAre(0, 1));
  EXPECT_EQ(choices(read, 0).front().candidate->channels, 8);
  EXPECT_EQ(choices(read, 1).front().candidate->channels, 7);
}

TEST(NcclGroups, OneGpuANodeIsAGroupOverRails) {
  NcclCase scenario;
  scenario.topology = kH100s;
  scenario.world_size = 32;
  scenario.cluster = ", groups: {tensor_parallel: 8}";
  auto read = scenario.read();
  EXPECT_THAT(read.communication->labels, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  for (const auto& choice : choices(read)) EXPECT_NE(choice.candidate->algorithm, Algorithm::nvls_tree);
  auto timeline = simulate(read, Fidelity::lazy);
  double expected = choices(read).front().time.value();
  EXPECT_NEAR(only_time(timeline, 0), expected, 1e-9 * expected);
  EXPECT_EQ(timeline.rank_classes.size(), 1U);  // all eight behave alike
}

struct Forced {
  const char* text;
  std::vector<Algorithm> algorithms;
  std::vector<Protocol> protocols;
};

class ForcedParts : public ::testing::TestWithParam<Forced> {};

TEST_P(ForcedParts, AreWhatIsChosen) {
  const auto& [text, algorithms, protocols] = GetParam();
  for (int world_size : {8, 32}) {
    NcclCase scenario;
    scenario.topology = kH100s;
    scenario.world_size = world_size;
    scenario.collective = text;
    auto read = scenario.read();
    for (double bytes = 1; bytes < 1e10; bytes *= 4) {
      auto choice = read.communication->nccl[0]->choose(Bytes(bytes));
      EXPECT_THAT(algorithms, ::testing::Contains(choice.candidate->algorithm)) << bytes;
      EXPECT_THAT(protocols, ::testing::Contains(choice.candidate->protocol)) << bytes;
    }
  }
}

const std::vector<Algorithm> kAnyAlgorithm{Algorithm::tree, Algorithm::ring, Algorithm::nvls,
                                           Algorithm::nvls_tree};
const std::vector<Protocol> kAnyProtocol{Protocol::ll, Protocol::ll128, Protocol::simple};

INSTANTIATE_TEST_SUITE_P(
    Words, ForcedParts,
    ::testing::Values(
        Forced{"nccl: {algorithm: ring}", {Algorithm::ring}, kAnyProtocol},
        Forced{"nccl: {algorithm: tree}", {Algorithm::tree}, kAnyProtocol},
        Forced{"nccl: {algorithm: nvls}", {Algorithm::nvls, Algorithm::nvls_tree}, {Protocol::simple}},
        Forced{"nccl: {protocol: ll}", {Algorithm::tree, Algorithm::ring}, {Protocol::ll}},
        Forced{"nccl: {protocol: ll128}", {Algorithm::tree, Algorithm::ring}, {Protocol::ll128}},
        Forced{"nccl: {protocol: simple}", kAnyAlgorithm, {Protocol::simple}},
        Forced{"nccl: {algorithm: tree, protocol: ll}", {Algorithm::tree}, {Protocol::ll}},
        Forced{"nccl: {algorithm: auto, protocol: auto}", kAnyAlgorithm, kAnyProtocol}),
    [](const auto& test) { return "case_" + std::to_string(test.index); });

// LL128 over PCIe, which NCCL enables only where it is forced.
TEST(NcclSection, ForcesAProtocolThatPcieHasNot) {
  for (int gpus : {2, 8, 16})
    for (const char* name : {"pcie-8gpu", "pcie-8x4090", "pcie-8xl40s"}) {
      auto topology = preset(name);
      auto cluster = topology->build(gpus);
      auto all = all_gpus(*cluster);
      nccl::Allowed allowed{{}, {Protocol::ll128}};
      NcclModel model(*cluster, all, nccl_communicator(*cluster, all, *topology->nccl), allowed, {});
      for (auto operation : {Operation::all_reduce, Operation::all_gather, Operation::broadcast})
        EXPECT_GT(model.choose(Bytes(1e6), operation).time, Seconds(0)) << name << " " << gpus;
    }
}

// By hand: 4 KiB on 8 GPUs over NVLink, ring and LL, with the lines of H100s: 1.1285948 (3.9757369 + 14 x
// 0.7447188) us and 4096 B / (0.26782566 x 450 GB/s).
TEST(NcclSection, ATimeByHand) {
  NcclCase scenario;
  scenario.topology = kH100s;
  scenario.world_size = 8;
  scenario.collective = "nccl: {algorithm: ring, protocol: ll}";
  scenario.gradients = "g0,1024,float32,0.001\n";
  EXPECT_NEAR(choices(scenario.read()).front().time.value(),
              1.1285948 * (3.9757369e-6 + 14 * 0.7447188e-6) + 4096 / (0.26782566 * 450e9), 1e-12);
}

// 2.21.5 pays two steps across nodes more than 2.27 does: 2 x 14 us instead of 2 x 6 us within.
TEST(NcclSection, ForcesTheVersion) {
  auto time = [](const std::string& version) {
    NcclCase scenario;
    scenario.collective = "nccl: {algorithm: ring, protocol: simple, version: '" + version + "'}";
    return choices(scenario.read()).front().time.value();
  };
  EXPECT_NEAR(time("2.27.6"), 1.1644e-3, 1e-12);
  EXPECT_NEAR(time("2.21.5") - time("2.27.6"), 16e-6, 1e-12);
  EXPECT_EQ(time("2.22.9"), time("2.21.5"));  // as 2.22.3, which changed nothing of it
  EXPECT_EQ(time("2.23"), time("2.27.6"));
}

// NCCL 2.24 takes a Blackwell for a Hopper, and the scenario says so.
TEST(NcclSection, SaysThatAReleaseDoesNotKnowTheGpu) {
  auto says_so = [](const std::string& version) {
    NcclCase scenario;
    scenario.topology.replace(scenario.topology.find("ampere"), 6, "blackwell");
    scenario.collective = "nccl: {version: '" + version + "'}";
    auto read = scenario.read();
    return std::any_of(read.notes.begin(), read.notes.end(),
                       [](const Note& note) { return note.code == "nccl-unknown-gpu"; });
  };
  EXPECT_TRUE(says_so("2.24.3"));
  EXPECT_FALSE(says_so("2.25.1"));
}

// A calibration of the topology, one of the scenario, and none of either.
TEST(NcclSection, ForcesTheCalibration) {
  NcclCase scenario;
  scenario.topology.replace(scenario.topology.find("cpu: amd"), 8, "cpu: amd, calibration: calibration.yaml");
  scenario.calibration = kNoTimeAtAll;
  scenario.collective = "nccl: {algorithm: ring, protocol: simple}";
  EXPECT_NEAR(choices(scenario.read()).front().time.value(), 0.96e-3, 1e-12);  // what the links take
  scenario.collective = "nccl: {algorithm: ring, protocol: simple, calibration: none}";
  EXPECT_NEAR(choices(scenario.read()).front().time.value(), 1.1644e-3, 1e-12);
  scenario.topology = kA100s;
  scenario.collective = "nccl: {algorithm: ring, protocol: simple, calibration: calibration.yaml}";
  EXPECT_NEAR(choices(scenario.read()).front().time.value(), 0.96e-3, 1e-12);
}

// The slowest launches last; what it launches takes as long.
TEST(NcclIteration, WaitsForStragglers) {
  NcclCase scenario;
  scenario.workload = ", stragglers: [{rank: 3, slowdown: 2}]";
  auto read = scenario.read();
  double expected = choices(read).front().time.value();
  for (auto fidelity : {Fidelity::closed_form, Fidelity::lazy}) {
    if (fidelity == Fidelity::lazy) {
      scenario.more = "engine: {fidelity: lazy}";
      read = scenario.read();
    }
    auto timeline = simulate(read, fidelity);
    for (int rank : {0, 3}) EXPECT_NEAR(only_time(timeline, rank), expected, 1e-9 * expected);
    const auto& span = of_rank(timeline, 3).communication.front();
    EXPECT_NEAR((span.start - of_rank(timeline, 3).backward_start).value(), 2e-3, 1e-12);
  }
}

// The bitmap of used parameters is an all-reduce like any other: LL, 4 B, right after the bucket.
TEST(NcclIteration, TimesTheBitmapToo) {
  NcclCase scenario;
  scenario.more = "ddp: {find_unused_parameters: true}";
  auto read = scenario.read();
  ASSERT_TRUE(read.plan.used_parameter_bitmap);
  auto times = durations(simulate(read, Fidelity::closed_form).last_to_finish());
  ASSERT_EQ(times.size(), 2U);
  double expected = read.communication->nccl[0]->choose(*read.plan.used_parameter_bitmap).time.value();
  EXPECT_NEAR(times[1], expected, 1e-9 * expected);
  EXPECT_LT(expected, 100e-6);
}

// Files of which a point was resolved that needs no links give the next one its links.
TEST(NcclIteration, ASettledPointAndASimulatedOneShareTheirCluster) {
  TemporaryFolder folder;
  folder.write("trace.csv",
               "# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\ng0,25600000,float32,0.001\n");
  folder.write("topology.yaml", kA100s);
  auto path = folder.write("scenario.yaml",
                           "workload: {trace: trace.csv}\n"
                           "cluster: {topology: topology.yaml, world_size: 16}\n");
  auto lazy = folder.write("lazy.yaml",
                           "workload: {trace: trace.csv}\n"
                           "cluster: {topology: topology.yaml, world_size: 16}\n"
                           "engine: {fidelity: lazy}\n");
  Files files(path);
  auto settled = resolve(files, config::load_yaml(path, "a scenario"));
  EXPECT_EQ(settled.fidelity, Fidelity::closed_form);
  EXPECT_FALSE(settled.communication->folded);
  auto simulated = resolve(files, config::load_yaml(lazy, "a scenario"));
  EXPECT_EQ(simulated.communication->cluster, settled.communication->cluster);
  EXPECT_EQ(simulated.communication->nccl, settled.communication->nccl);
  ASSERT_TRUE(simulated.communication->folded);
  auto times = simulate({settled, simulated}, 1);
  double first = only_time(times[0], 0);
  EXPECT_NEAR(only_time(times[1], 0), first, 1e-9 * first);
}

}  // namespace
}  // namespace ddpsim::testing
