// A network that reduces (SHARP): who may use it, what it takes, and what is said of it.
#include <algorithm>

#include <gtest/gtest.h>

#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_notes.hpp"
#include "sim/cost/network_heads.hpp"

#include "tests/engine/link_changes.hpp"
#include "tests/engine/nccl_scenarios.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

constexpr Bytes kGB(1e9);
const nccl::Allowed kCollnet{.algorithms = {}, .protocols = {}, .collnet = true};

std::string with_sharp(std::string text, const std::string& more = "") {
  auto end = text.rfind('}');
  return text.replace(end, 1, ", network_reduces: true" + more + "}");
}

struct Machine {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Cluster> cluster;
  Machine(const std::string& text, int gpus, const std::vector<LinkOverride>& changes = {})
      : topology(topology_of(text)), cluster(topology->build(gpus, changes)) {}
  [[nodiscard]] nccl::Communicator seen() const {
    return nccl_communicator(*cluster, all_gpus(*cluster), *topology->nccl);
  }
  [[nodiscard]] NcclModel model(const nccl::Allowed& allowed,
                                const nccl::Calibration& calibration = {}) const {
    return {*cluster, all_gpus(*cluster), seen(), allowed, calibration};
  }
};

TEST(NcclCollnet, HeadsAreTheNicsOfANode) {
  EXPECT_EQ(Machine(with_sharp(kH100s), 32).seen().collnet_heads, 8);
  EXPECT_EQ(Machine(kH100s, 32).seen().collnet_heads, 0);              // its network does not reduce
  EXPECT_EQ(Machine(with_sharp(kH100s), 8).seen().collnet_heads, 0);   // nobody to reduce with
  EXPECT_EQ(Machine(with_sharp(kH100s), 20).seen().collnet_heads, 4);  // the last node has four GPUs
  EXPECT_EQ(Machine(with_sharp(kSharedNics), 8).seen().collnet_heads, 1);
}

// Four nodes of 8 H100s: NVLS counts 43 us of latency and 5/6 of 8 x 40 GB/s. No curve stands for it.
TEST(NcclCollnet, TakesWhatTheTunerCounts) {
  Machine machine(with_sharp(kH100s), 32);
  nccl::Calibration calibration;
  calibration.entries = {{nccl::Algorithm::nvls_tree, true, {1.2, 0.5, Seconds(30e-6)}}};
  auto model = machine.model(kCollnet, calibration);
  auto choice = model.choose(kGB);
  EXPECT_TRUE(is_collnet(choice.candidate->algorithm, 4)) << nccl::name(choice.candidate->algorithm);
  EXPECT_EQ(model.cost().times_from(*choice.candidate, Bytes(1e6)), nccl::TimesFrom::tuner);
  EXPECT_DOUBLE_EQ(choice.time.value(), (choice.candidate->latency + kGB / choice.candidate->rate).value());
  // Without permission as if there were no such network.
  EXPECT_EQ(machine.model({}, calibration).choose(kGB).time,
            Machine(kH100s, 32).model({}, calibration).choose(kGB).time);
  // An all-gather's are CollNetDirect's or NVLS's, from the same tuner.
  auto gather = model.choose(kGB, Operation::all_gather);
  if (is_collnet(gather.candidate->algorithm, 4)) {
    EXPECT_EQ(model.cost(Operation::all_gather).times_from(*gather.candidate, Bytes(1e6)),
              nccl::TimesFrom::tuner);
  }
}

// Each of eight NICs sends an eighth: 1 GB at 1 GB/s of the slowest is 0.125 s.
TEST(NcclCollnet, LinksBoundIt) {
  Machine machine(with_sharp(kH100s), 32, {slower("node2.nic5.in", 1)});
  EXPECT_NEAR(network_heads(*machine.cluster, all_gpus(*machine.cluster)).seconds_per_byte, 0.125e-9, 1e-15);
  for (auto algorithm : {nccl::Algorithm::collnet_chain, nccl::Algorithm::collnet_direct}) {
    auto allowed = kCollnet;
    allowed.algorithms = {algorithm};
    EXPECT_GE(machine.model(allowed).choose(kGB).time.value(), 0.125);
  }
}

TEST(NcclCollnet, DirectIsForEightGpusANodeAtMost) {
  auto has_direct = [](int gpus_per_node) {
    auto text = with_sharp(kH100s);
    text.replace(text.find("gpus: 8"), 7, "gpus: " + std::to_string(gpus_per_node));
    auto candidates = Machine(text, 2 * gpus_per_node).model(kCollnet).cost().candidates();
    return std::any_of(candidates.begin(), candidates.end(), [](const auto& candidate) {
      return candidate.algorithm == nccl::Algorithm::collnet_direct;
    });
  };
  EXPECT_TRUE(has_direct(8));
  EXPECT_FALSE(has_direct(16));
}

TEST(NcclCollnet, SaysThatNobodyMeasuredIt) {
  auto said = [](int gpus, const nccl::Allowed& allowed) {
    auto notes = nccl_notes(Machine(with_sharp(kH100s), gpus).seen(), allowed, {});
    return std::count_if(notes.begin(), notes.end(),
                         [](const Note& note) { return note.code == "nccl-collnet-uncalibrated"; });
  };
  EXPECT_EQ(said(32, kCollnet), 1);
  EXPECT_EQ(said(32, {}), 0);
  EXPECT_EQ(said(8, kCollnet), 0);
}

TEST(NcclCollnet, ItsTrafficIsNotSimulated) {
  Machine machine(with_sharp(kH100s), 32);
  ChannelLimits limits(machine.cluster->links());
  auto model = machine.model(kCollnet);
  auto error =
      input_error([&] { (void)model.schedule(*machine.cluster, all_gpus(*machine.cluster), limits); });
  EXPECT_EQ(error.substr(0, error.find('\n')),
            "error: what a network that reduces carries is not simulated, only timed by itself");
}

}  // namespace
}  // namespace ddpsim::testing
