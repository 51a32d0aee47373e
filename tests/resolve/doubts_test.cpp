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

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

GpuDescription gpu(const std::string& architecture) {
  GpuDescription gpu;
  gpu.name = "a GPU";
  gpu.architecture = architecture;
  return gpu;
}

auto names(const std::vector<Doubt>& doubts) {
  std::vector<std::string> all;
  for (const auto& doubt : doubts) all.push_back(name_of(*doubt.of));
  return all;
}

auto classes(const Software& software, const std::string& architecture, Precision precision,
             WhoseSoftware whose = WhoseSoftware::named) {
  return names(compute_doubts(software, gpu(architecture), precision, whose));
}

TEST(ComputeDoubts, OfASoftware) {
  Software mine{.name = "mine", .types = {Precision::bfloat16}};
  EXPECT_THAT(classes(mine, "hopper", Precision::bfloat16), ElementsAre("compute named"));
  EXPECT_THAT(classes(mine, "hopper", Precision::float16), ElementsAre("compute named"));  // as fast
  EXPECT_THAT(classes(mine, "hopper", Precision::bfloat16, WhoseSoftware::default_one),
              ElementsAre("compute same_gpu", "physics launches"));
  EXPECT_THAT(classes(mine, "hopper", Precision::float8), ElementsAre("compute never", "physics launches"));
  auto elsewhere = mine;
  elsewhere.is_for_gpu = false;
  EXPECT_THAT(classes(elsewhere, "hopper", Precision::bfloat16),
              ElementsAre("compute other_gpu", "physics launches"));
  EXPECT_THAT(classes(elsewhere, "turing", Precision::bfloat16),
              ElementsAre("compute never", "physics launches"));
  auto alike = elsewhere;
  alike.is_for_chip = true;
  EXPECT_THAT(classes(alike, "hopper", Precision::bfloat16),
              ElementsAre("compute same_chip", "physics launches"));
  EXPECT_THAT(classes(mine, "hopper", Precision::bfloat16, WhoseSoftware::calibrated),
              ElementsAre("compute calibrated"));
  EXPECT_THAT(classes(elsewhere, "turing", Precision::bfloat16, WhoseSoftware::calibrated),
              ElementsAre("compute never", "physics launches"));
}

TEST(ComputeDoubts, OfATrace) {
  LayerTrace trace;
  EXPECT_THAT(names(trace_doubts(trace, false, false)), ElementsAre("compute measured"));
  EXPECT_THAT(names(trace_doubts(trace, true, true)), ElementsAre("compute other_gpu"));
  EXPECT_THAT(names(trace_doubts(trace, false, true)), ElementsAre("compute never"));
  trace.metadata.synthetic = "by its operations";
  EXPECT_THAT(names(trace_doubts(trace, false, false)), ElementsAre("compute never"));
  trace.metadata.totals = "given";
  EXPECT_THAT(names(trace_doubts(trace, false, false)), ElementsAre("compute measured"));
  EXPECT_THAT(names(trace_doubts(trace, false, true)), ElementsAre("compute never"));
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
        has_shares = has_shares || (description.name.find(word) != std::string::npos &&
                                    read_software(software.path().string(), word).derived_from.empty());
    auto& fitted = is_fitted[description.architecture];
    fitted = fitted || has_shares;
  }
  EXPECT_GE(is_fitted.size(), 5U);
  for (const auto& [architecture, fitted] : is_fitted) {
    Software elsewhere{.name = "another", .is_for_gpu = false};
    EXPECT_EQ(classes(elsewhere, architecture, Precision::bfloat16).front(),
              fitted ? "compute other_gpu" : "compute never")
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
  // By class, the axes that it joins.
  std::map<std::string, std::vector<std::string>> network(const std::string& cluster,
                                                          const std::string& more = "strategy: fsdp\n") {
    std::map<std::string, std::vector<std::string>> found;
    for (const auto& doubt : read(cluster, more).doubts)
      if (doubt.of->of == Subject::network) found[std::string(doubt.of->name)] = doubt.axes;
    return found;
  }
  std::vector<std::string> steps(const Scenario& scenario) {
    std::vector<std::string> found;
    for (const auto& doubt : scenario.doubts)
      if (doubt.of->of == Subject::step) found.emplace_back(doubt.of->name);
    return found;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OfScenarios, TheNetworkWhereGroupsCrossNodes) {
  auto data = ElementsAre("data");
  EXPECT_THAT(network("topology: p4d, world_size: 16"), ElementsAre(Pair("efa", data)));
  EXPECT_THAT(network("topology: p4d, world_size: 8"), ElementsAre(Pair("nvlink", data)));
  EXPECT_THAT(network("topology: p4d, world_size: 1"), IsEmpty());
  // Rings of a mesh stay on NVLink, though some neighbours by number have none.
  EXPECT_THAT(network("topology: dgx1-v100, world_size: 8"), ElementsAre(Pair("nvlink", data)));
  EXPECT_THAT(network("topology: superpod-h100, world_size: 16"), ElementsAre(Pair("infiniband", data)));
  EXPECT_THAT(network("topology: superpod-a100, world_size: 16"),
              ElementsAre(Pair("infiniband_uncalibrated", data)));
  // Its calibration is that of InfiniBand.
  EXPECT_THAT(network("topology: p5, world_size: 16"), ElementsAre(Pair("efa", data)));
  EXPECT_THAT(network("topology: gb200-nvl72, world_size: 128"), ElementsAre(Pair("nvl72", data)));
}

TEST_F(OfScenarios, TheNetworkOfTextByItsWord) {
  for (std::string word : {"efa", "roce", "slingshot"}) {
    folder_.write("nodes.yaml",
                  "kind: cluster\ngpu: a100-sxm4-80gb\nnode: {gpus: 8, interconnect: {kind: nvswitch, "
                  "bandwidth: 300GB/s, latency: 1us}, nics: {count: 8, bandwidth: 200Gbps, latency: "
                  "5us}}\nfabric: {kind: rail_optimized, network: " +
                      word + "}\n");
    EXPECT_THAT(network("topology: nodes.yaml, world_size: 16"),
                ElementsAre(Pair(word == "roce" ? "roce_leaf" : word, ElementsAre("data"))));
    EXPECT_THAT(network("topology: nodes.yaml, world_size: 8"),
                ElementsAre(Pair("nvlink", ElementsAre("data"))));
  }
}

TEST_F(OfScenarios, SocketsByWhoseNicsTheyAre) {
  EXPECT_THAT(network("topology: gcp-a2-8, world_size: 16"),
              ElementsAre(Pair("ethernet", ElementsAre("data"))));
  EXPECT_THAT(network("topology: pcie-2x4090, world_size: 4"),
              ElementsAre(Pair("ethernet_guessed", ElementsAre("data"))));
  // What holds up its rings is within the nodes.
  EXPECT_THAT(network("topology: g5-48xlarge, world_size: 16"),
              ElementsAre(Pair("pcie_host_guessed", ElementsAre("data"))));
}

TEST_F(OfScenarios, OneRackAndOtherLibraries) {
  EXPECT_THAT(network("topology: gb200-nvl72, world_size: 72"),
              ElementsAre(Pair("nvl72", ElementsAre("data"))));
  EXPECT_THAT(
      network("topology: superpod-a100, world_size: 16", "strategy: ddp\ncollective: {backend: gloo}\n"),
      ElementsAre(Pair("gloo", ElementsAre("data"))));
  EXPECT_THAT(
      network("topology: superpod-a100, world_size: 16", "strategy: ddp\ncollective: {backend: mpi}\n"),
      ElementsAre(Pair("mpi", ElementsAre("data"))));
}

// The table of a pair says nothing of eight.
TEST_F(OfScenarios, PcieByTheGpusThatWereMeasured) {
  EXPECT_THAT(network("topology: pcie-8xl40s, world_size: 2"),
              ElementsAre(Pair("table", ElementsAre("data"))));
  EXPECT_THAT(network("topology: pcie-8xl40s, world_size: 8"),
              ElementsAre(Pair("pcie_host_guessed", ElementsAre("data"))));
  // Below one switch with peer-to-peer, on both through the memory of Intel's hosts.
  EXPECT_THAT(network("topology: pcie-8gpu, gpu: a100-pcie-40gb, world_size: 4"),
              ElementsAre(Pair("pcie", ElementsAre("data"))));
  EXPECT_THAT(network("topology: pcie-8gpu, gpu: a100-pcie-40gb, world_size: 8"),
              ElementsAre(Pair("pcie_host", ElementsAre("data"))));
}

// Groups of 8 are in a node; copies are reduced between nodes.
TEST_F(OfScenarios, EachAxisWhereItsGroupsAre) {
  EXPECT_THAT(
      network("topology: p4d, world_size: 32", "strategy: megatron\nparallelism: {tensor: 8}\n"),
      UnorderedElementsAre(Pair("nvlink", ElementsAre("tensor")), Pair("efa", ElementsAre("all", "data"))));
  EXPECT_THAT(
      network("topology: p4d, world_size: 32", "strategy: hsdp\n"),
      UnorderedElementsAre(Pair("nvlink", ElementsAre("shard")), Pair("efa", ElementsAre("replica"))));
}

TEST_F(OfScenarios, ExpertsByTheirWidthAndSequencesByTheirSoftware) {
  auto with = [&](const std::string& parallelism, const std::string& model) {
    return steps(read("topology: superpod-h100, world_size: 8",
                      "strategy: megatron\nparallelism: {" + parallelism + "}\n", model));
  };
  EXPECT_THAT(with("expert: 8", "mixtral-8x7b, micro_batch: 1, sequence: 4096"), ElementsAre("experts"));
  EXPECT_THAT(with("expert: 8",
                   "{kind: transformer, hidden: 512, layers: 2, heads: 8, vocab: 1000, experts: 16, "
                   "top_k: 2, expert_ffn: 512}, micro_batch: 1, sequence: 512"),
              ElementsAre("small_experts"));
  EXPECT_THAT(with("context: 8", "llama-3-8b, micro_batch: 1, sequence: 65536"), ElementsAre("context"));
  EXPECT_THAT(with("context: 8", "llama-3-8b, micro_batch: 1, sequence: 32768, framework: torchtitan-2024"),
              ElementsAre("context_pytorch"));
  EXPECT_THAT(with("tensor: 8, sequence: true}\ntensor: {overlap: async_tp",
                   "llama-3-8b, micro_batch: 1, sequence: 4096"),
              ElementsAre("async_tp"));
  // Kernels that nobody measured on such GPUs, where attention is much of a step.
  const std::string fa3 = "llama-3-8b, micro_batch: 1, attention: {kernel: fa3}, sequence: ";
  EXPECT_THAT(with("tensor: 8", fa3 + "65536"), ElementsAre());
  auto on_b200 = [&](const std::string& sequence) {
    return steps(read("topology: dgx-b200, world_size: 8", "strategy: megatron\n", fa3 + sequence));
  };
  EXPECT_THAT(on_b200("65536"), ElementsAre("attention"));
  EXPECT_THAT(on_b200("4096"), ElementsAre());  // a tenth of the operations
}

TEST_F(OfScenarios, PhysicsThatNothingCalibrated) {
  auto of = [&](const std::string& more) {
    std::vector<std::string> found;
    for (const auto& doubt : read("topology: superpod-h100, world_size: 8", "strategy: ddp\n" + more).doubts)
      if (doubt.of->of == Subject::physics) found.emplace_back(doubt.of->name);
    return found;
  };
  EXPECT_THAT(of(""), ElementsAre("launches", "interference", "spread"));
  EXPECT_THAT(of("physics: {interference: 0.3}\nspread: {ranks: 0.02}\n"), ElementsAre("launches"));
  EXPECT_THAT(of("physics: none\n"), ElementsAre("launches"));
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
