// Where links are shared, the builtin network flow by flow, folded and lazily, and SimGrid give the same
// times: 300 random scenarios, of models that GPUs share and of groups that meet on NICs. What is left
// between them is rounding, and SimGrid's: it counts payloads in whole units, of which the largest flow has
// 2^62 at most, and stops sharing at 1e-9 of a bandwidth.
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/study/timeline_difference.hpp"

#include "tests/support/draws.hpp"

namespace ddpsim {
namespace {

// With sanitizers, which take ten times as long, some of them.
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned kBlocks = 10, kOfABlock = 6;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr unsigned kBlocks = 10, kOfABlock = 6;
#else
constexpr unsigned kBlocks = 10, kOfABlock = 30;
#endif
#else
constexpr unsigned kBlocks = 10, kOfABlock = 30;
#endif
// What they may differ by, as a share of the iteration (docs/model.md, "Where it is not exact").
struct Tolerance {
  double folded = 1e-10, exact = 1e-10, simgrid = 1e-9;

  explicit Tolerance(const std::string& scenario) {
    auto has = [&](const char* word) { return scenario.find(word) != std::string::npos; };
    // Chunks of a tree that others meet wait for one another after each round, and rounds that are alike but
    // for 1e-9 are left out.
    if (has("tree")) folded = simgrid = 1e-6, exact = 1e-5;
    // A stage's GPUs are no whole nodes: messages meet some hops of a ring only, which an eager ring makes up
    // for.
    if (has("# no whole nodes")) exact = 3e-3;
    // GPUs drawn at random: hops of a ring meet others one after the other, and it waits for each in turn.
    if (has("random")) exact = 0.02;
  }
};

using testing::Draws;

// Stages whose messages meet gradients, on nodes that a stage fills and on racks that it does not. One draw
// after the other: in which order arguments are worked out is the compiler's.
std::string shared_model(Draws& draw) {
  int tensor = draw.one_of({1, 2, 4}), pipeline = draw.one_of({2, 4}), data = draw.one_of({2, 3, 4});
  auto topology = draw.one_of({"superpod-h100", "dgx-a100", "pcie-8gpu", "gb200-nvl72"});
  auto model = draw.one_of({"gpt2-medium", "llama-2-7b"});
  auto placement = draw.one_of({"packed", "packed", "packed", "round_robin", "{random: 1}"});
  auto algorithm = draw.one_of({"auto", "auto", "auto", "ring", "tree"});
  auto schedule = draw.one_of({"gpipe", "1f1b", "interleaved, virtual: 2", "zero_bubble", "dualpipe"});
  int batch = data * pipeline * draw.one_of({2, 4});
  auto strategy = draw.one_of({"ddp", "flat", "zero1", "megatron"});
  auto physics = draw.one_of({"none", "{interference: 0.3}"});
  // Trees over GPUs drawn at random are too uneven to be compared.
  if (std::string_view(algorithm) == "tree") placement = "packed";
  return fmt::format(
      "workload: {{model: {}, micro_batch: 1, sequence: 1024, dtype: bf16}}\n"
      "cluster: {{topology: {}, world_size: {}, placement: {}}}\n"
      "collective: {{algorithm: {}}}\n"
      "parallelism: {{tensor: {}, pipeline: {}}}\npipeline: {{schedule: {}}}\nbatch: {{global: {}}}\n"
      "strategy: {}\nphysics: {}\n{}",
      model, topology, tensor * pipeline * data, placement, algorithm, tensor, pipeline, schedule, batch,
      strategy, physics, tensor * data % 8 == 0 ? "" : "# no whole nodes\n");
}

std::string groups_on_nics(Draws& draw) {
  int ranks = draw.one_of({16, 32}), groups = draw.one_of({2, 4});
  auto topology = draw.one_of({"dgx-a100", "superpod-h100", "pcie-8gpu"});
  std::string text = fmt::format(
      "workload: {{trace: ../traces/gpt2-large-a100-bs4.csv}}\n"
      "cluster:\n  topology: {}\n  world_size: {}\n  groups:\n",
      topology, ranks);
  for (int g = 0; g < groups; ++g)
    text += fmt::format("    - {{ranks: {{from: {}, to: {}, step: {}}}, offset: {}ms}}\n", g,
                        ranks - groups + g, groups, draw.one_of({0, 0, 3, 11}));
  if (draw.one_of({true, false})) {
    int nic = draw.one_of({0, 1}), start = draw.one_of({0, 5, 20}), size = draw.one_of({8, 64}),
        end = draw.one_of({40, 90});
    text += fmt::format("  background: [{{links: [node0.nic{}], start: {}ms, size: {}MB, end: {}ms}}]\n", nic,
                        start, size, end);
  }
  auto strategy = draw.one_of({"ddp", "flat"});
  int cap = draw.one_of({25, 100});
  auto algorithm = draw.one_of({"ring", "hierarchical", "tree"});
  return text + fmt::format("strategy: {}\nddp: {{bucket_cap: {}MiB}}\ncollective: {{algorithm: {}}}\n",
                            strategy, cap, algorithm);
}

class RandomContention : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomContention, IsTheSameByEveryWay) {
  unsigned contended = 0;
  for (unsigned seed = GetParam() * kOfABlock; seed < (GetParam() + 1) * kOfABlock && !HasFailure(); ++seed) {
    Draws draw(seed);
    auto text = seed % 3 == 0 ? groups_on_nics(draw) : shared_model(draw);
    SCOPED_TRACE(fmt::format("case {}\n{}", seed, text));
    auto scenario = resolve(Files(DDPSIM_SOURCE_DIR "/configs/random.yaml"),
                            config::parse_yaml({make_source("random", text), text}, "a scenario"));
    if (scenario.fidelity == Fidelity::closed_form) continue;
    ++contended;
    auto timeline_of = [&](Fidelity fidelity, SharedNetwork network) {
      auto varied = scenario;
      varied.fidelity = fidelity;
      varied.network = network;
      return simulate_once(varied).prediction.timeline;
    };
    Tolerance most(text);
    auto lazy = timeline_of(Fidelity::lazy, SharedNetwork::builtin);
    for (auto [fidelity, tolerance] :
         {std::pair(Fidelity::folded, most.folded), {Fidelity::exact, most.exact}})
      EXPECT_LT(largest_difference(lazy, timeline_of(fidelity, SharedNetwork::builtin)), tolerance)
          << fidelity_name(fidelity);
    EXPECT_LT(largest_difference(lazy, timeline_of(Fidelity::lazy, SharedNetwork::simgrid)), most.simgrid);
  }
  EXPECT_GE(contended, kOfABlock / 4);
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomContention, ::testing::Range(0U, kBlocks));

}  // namespace
}  // namespace ddpsim
