// What of a scenario nobody measured.
#include "sim/resolve/doubts.hpp"

#include <filesystem>
#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/value.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/software_file.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using Of = Doubt::Of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

GpuDescription gpu(const std::string& architecture) {
  GpuDescription gpu;
  gpu.name = "a GPU";
  gpu.architecture = architecture;
  return gpu;
}

auto factors(const Software& software, const std::string& architecture, Precision precision,
             bool calibrated = false) {
  std::vector<double> all;
  for (const auto& doubt : compute_doubts(software, gpu(architecture), precision, calibrated)) {
    EXPECT_EQ(doubt.of, Of::compute);
    all.push_back(doubt.factor);
  }
  return all;
}

TEST(ComputeDoubts, OfASoftware) {
  Software judged{.name = "mine", .judged_error = 0.03, .types = {Precision::bfloat16}};
  EXPECT_THAT(factors(judged, "hopper", Precision::bfloat16), ElementsAre(1.03));
  EXPECT_THAT(factors(judged, "hopper", Precision::float16), ElementsAre(1.03));  // as fast
  EXPECT_THAT(factors(judged, "hopper", Precision::float8), ElementsAre(1.4, 1.03));
  auto elsewhere = judged;
  elsewhere.is_for_gpu = false;
  EXPECT_THAT(factors(elsewhere, "hopper", Precision::bfloat16), ElementsAre(1.25, 1.03));
  EXPECT_THAT(factors(elsewhere, "volta", Precision::bfloat16), ElementsAre(1.4, 1.03));
  EXPECT_THAT(factors({.name = "new"}, "hopper", Precision::bfloat16), ElementsAre(1.25));
  EXPECT_THAT(factors({.name = "calibrated"}, "hopper", Precision::bfloat16, true), ElementsAre(1.042));
}

// A generation counts as fitted where some software of software/ has shares for one of gpus/ of it.
TEST(ComputeDoubts, FittedGenerationsAreThoseOfTheSoftwareFiles) {
  std::map<std::string, bool> is_fitted;  // by architecture
  auto files = [](const char* folder) {
    return std::filesystem::directory_iterator(std::string(DDPSIM_SOURCE_DIR) + "/" + folder);
  };
  for (const auto& file : files("gpus")) {
    auto description = read_gpu(file.path().string());
    bool has_shares = false;
    for (const auto& software : files("software"))
      for (const auto& word : software_gpus(software.path().string()))
        has_shares = has_shares || description.name.find(word) != std::string::npos;
    auto& fitted = is_fitted[description.architecture];
    fitted = fitted || has_shares;
  }
  EXPECT_GE(is_fitted.size(), 5U);
  for (const auto& [architecture, fitted] : is_fitted) {
    Software elsewhere{.name = "another", .judged_error = 0.03, .is_for_gpu = false};
    EXPECT_THAT(factors(elsewhere, architecture, Precision::bfloat16), ElementsAre(fitted ? 1.25 : 1.4, 1.03))
        << architecture;
  }
}

class OfScenarios : public ::testing::Test {
 protected:
  Scenario read(const std::string& cluster, const std::string& more = "strategy: fsdp\n",
                const std::string& model = "llama-2-7b, micro_batch: 1, sequence: 4096") {
    auto path = folder_.write("scenario.yaml",
                              "workload: {model: " + model + "}\ncluster: {" + cluster + "}\n" + more);
    return resolve(Files(path), config::load_yaml(path, "a scenario"));
  }
  std::vector<Doubt> network(const std::string& cluster, const std::string& more = "strategy: fsdp\n") {
    auto doubts = read(cluster, more).doubts;
    std::erase_if(doubts, [](const Doubt& doubt) { return doubt.of == Of::compute; });
    return doubts;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OfScenarios, TheNetworkWhereGroupsCrossNodes) {
  EXPECT_THAT(network("topology: p4d, world_size: 16"),
              ElementsAre(Doubt{Of::data, 1.35, "EFA without others' traffic"}));
  EXPECT_THAT(network("topology: p4d, world_size: 8"), IsEmpty());
  EXPECT_THAT(network("topology: superpod-h100, world_size: 16"), IsEmpty());
  // Its calibration is that of InfiniBand.
  EXPECT_THAT(network("topology: p5, world_size: 16"),
              ElementsAre(Doubt{Of::data, 1.35, "EFA without others' traffic"}));
  EXPECT_THAT(network("topology: gb200-nvl72, world_size: 128"),
              ElementsAre(Doubt{Of::data, 1.3, "NVLink domains of racks"}));
}

TEST_F(OfScenarios, TheNetworkOfTextByItsWord) {
  for (auto [word, factor, what] :
       {std::tuple{"ethernet", 2.0, "Ethernet"}, {"roce", 1.35, "RoCE"}, {"slingshot", 1.35, "Slingshot"}}) {
    folder_.write(
        "nodes.yaml",
        std::string("kind: cluster\ngpu: a100-sxm4-80gb\nnode: {gpus: 8, interconnect: {kind: nvswitch, "
                    "bandwidth: 300GB/s, latency: 1us}, nics: {count: 8, bandwidth: 200Gbps, latency: "
                    "5us}}\nfabric: {kind: rail_optimized, network: ") +
            word + "}\n");
    EXPECT_THAT(network("topology: nodes.yaml, world_size: 16"), ElementsAre(Doubt{Of::data, factor, what}));
    EXPECT_THAT(network("topology: nodes.yaml, world_size: 8"), IsEmpty());
  }
}

TEST_F(OfScenarios, OneRackAndGloo) {
  EXPECT_THAT(network("topology: gb200-nvl72, world_size: 72"),
              ElementsAre(Doubt{Of::data, 1.4, "an NVLink domain of more than 8 GPUs"}));
  EXPECT_THAT(network("topology: gb200-nvl72, world_size: 8"), IsEmpty());
  EXPECT_THAT(
      network("topology: superpod-a100, world_size: 16", "strategy: ddp\ncollective: {backend: gloo}\n"),
      Contains(Doubt{Of::data, 1.35, "Gloo"}));
}

// The table of a pair says nothing of eight.
TEST_F(OfScenarios, PcieByTheGpusThatWereMeasured) {
  EXPECT_THAT(network("topology: pcie-8xl40s, world_size: 2"), IsEmpty());
  EXPECT_THAT(network("topology: pcie-8xl40s, world_size: 8"), ElementsAre(Doubt{Of::data, 2.5, "PCIe"}));
  EXPECT_THAT(network("topology: pcie-8gpu, gpu: a100-pcie-40gb, world_size: 4"),
              ElementsAre(Doubt{Of::data, 2.5, "PCIe"}));
}

TEST_F(OfScenarios, EachAxisWhereItsGroupsAre) {
  auto doubts = network("topology: p4d, world_size: 32",
                        "strategy: megatron\nparallelism: {tensor: 16}\nbatch: {global: 8}\n");
  EXPECT_THAT(doubts, Contains(Doubt{Of::tensor, 1.35, "EFA without others' traffic"}));
}

TEST_F(OfScenarios, ExpertsAndLongSequences) {
  auto experts =
      read("topology: superpod-h100, world_size: 64", "strategy: megatron\nparallelism: {expert: 8}\n",
           "mixtral-8x7b, micro_batch: 1, sequence: 4096")
          .doubts;
  EXPECT_THAT(experts, Contains(Doubt{Of::step, 1.5, "experts"}));
  auto parallelism = "strategy: fsdp\nparallelism: {context: 8}\n";
  auto has_context = Contains(Field(&Doubt::what, "long sequences over several GPUs"));
  EXPECT_THAT(read("topology: superpod-h100, world_size: 8", parallelism,
                   "llama-3-8b, micro_batch: 1, sequence: 65536")
                  .doubts,
              has_context);
  EXPECT_THAT(read("topology: superpod-h100, world_size: 8", parallelism,
                   "llama-3-8b, micro_batch: 1, sequence: 32768")
                  .doubts,
              ::testing::Not(has_context));
}

TEST_F(OfScenarios, AJobThatLeavesWhatItsSoftwareWasFittedOn) {
  auto code = [&](const std::string& cluster, const std::string& more) {
    for (const auto& note : read(cluster, more).notes)
      if (note.code == "software-scope") return note.text;
    return std::string();
  };
  EXPECT_EQ(code("topology: superpod-h100, world_size: 64", "strategy: fsdp\n"), "");
  EXPECT_EQ(code("topology: superpod-h100, world_size: 128", "strategy: fsdp\n"),
            "software fsdp-eager-2023 was fitted and judged on steps of up to 64 GPUs, and these are 128");
  EXPECT_EQ(code("topology: superpod-h100, world_size: 8", "strategy: megatron\nparallelism: {tensor: 4}\n"),
            "software fsdp-eager-2023 was fitted and judged on steps without tensor parallelism, and this "
            "job has 4 GPUs "
            "to a group");
}

}  // namespace
}  // namespace ddpsim
