// Layers of a model dealt out to the stages of a pipeline.
#include "sim/program/stage_layers.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;
using Layers = std::vector<std::int64_t>;

TEST(StageLayers, AsManyEach) {
  EXPECT_THAT(split_layers(8, 4, 1, {}), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(split_layers(8, 2, 2, {}), ElementsAre(2, 2, 2, 2));
}

// Llama 3 405B: 126 layers, of which the paper's first and last stage have one fewer.
TEST(StageLayers, TheEndsCountAsALayer) {
  Layers of_16{7};
  of_16.insert(of_16.end(), 14, 8);
  of_16.push_back(7);
  EXPECT_EQ(split_layers(126, 16, 1, {.count_embedding = true, .count_loss = true}), of_16);
  EXPECT_EQ(split_layers(126, 16, 1, {.first = 7, .last = 7}), of_16);
  Layers of_128(128, 1);  // the first and the last chunk have the embedding and the head only
  of_128.front() = of_128.back() = 0;
  EXPECT_EQ(split_layers(126, 16, 8, {.count_embedding = true, .count_loss = true}), of_128);
  EXPECT_THAT(split_layers(7, 4, 1, {.count_loss = true}), ElementsAre(2, 2, 2, 1));
}

TEST(StageLayers, OneEndIsSaid) {
  EXPECT_THAT(split_layers(10, 4, 1, {.first = 1}), ElementsAre(1, 3, 3, 3));
  EXPECT_THAT(split_layers(10, 4, 1, {.last = 4}), ElementsAre(2, 2, 2, 4));
  EXPECT_THAT(split_layers(10, 2, 1, {.first = 4, .last = 6}), ElementsAre(4, 6));
  EXPECT_THAT(split_layers(12, 3, 2, {.first = 2, .last = 2}), ElementsAre(1, 4, 1, 1, 4, 1));
}

TEST(StageLayers, NoneIsLost) {
  for (int ranks : {2, 3, 8})
    for (int chunks : {1, 2, 5})
      for (bool embedding : {false, true})
        for (bool loss : {false, true}) {
          std::int64_t layers = 3 * ranks * chunks - (embedding ? 1 : 0) - (loss ? 1 : 0);
          auto all = split_layers(layers, ranks, chunks, {{}, {}, embedding, loss});
          EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), layers);
          EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks * chunks));
        }
}

TEST(StageLayers, Errors) {
  auto error = [](std::int64_t layers, int ranks, int chunks, const StageRule& rule) {
    return input_error([&] { split_layers(layers, ranks, chunks, rule); });
  };
  EXPECT_EQ(error(126, 16, 1, {}),
            "error: 126 layers are no 16 equal stages\n"
            "hint: write pipeline: {count_embedding: true, count_loss: true}: the first and the last stage "
            "then have a layer fewer");
  EXPECT_EQ(
      error(9, 4, 1, {}),
      "error: 9 layers are no 4 equal stages\n"
      "hint: say how many each has: pipeline: {layers: [3, 3, 3, 0]}, or {layers: {first: N, last: N}}");
  EXPECT_THAT(error(10, 4, 1, {.first = 2}), ::testing::HasSubstr("8 layers are no 3 equal other stages"));
  // 32 + 2 in two equal parts would be no way out: the first and the last are given.
  EXPECT_THAT(error(32, 2, 1, {.first = 1, .last = 1}),
              ::testing::AllOf(::testing::HasSubstr("30 layers are no 0 equal other stages"),
                               ::testing::HasSubstr("layers: [16, 16]")));
  EXPECT_THAT(error(12, 4, 1, {.first = 20}), ::testing::HasSubstr("-8 layers are no 3 equal other stages"));
}

}  // namespace
}  // namespace ddpsim::testing
