#include "sim/trace/import/layer_times.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/model/transformer_modules.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/trace/import/layer_times_tables.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LayerTimesTables;
using testing::MadeUpTimes;
using testing::sizes_table;
using testing::times_table;

constexpr double kRounding = 1e-12;

std::map<std::string, Gradient> by_name(const LayerTrace& trace) {
  std::map<std::string, Gradient> gradients;
  for (const auto& gradient : trace.gradients) gradients[gradient.name] = gradient;
  return gradients;
}

class LayerTimesOfSize : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(AllSizes, LayerTimesOfSize, ::testing::Range(std::size_t{0}, gpt2_presets().size()));

// lm_head 1 s, ln_f 0.5 s, L blocks of 2 s: gpt2 ends at 1.5 + 12 * 2 = 25.5 s.
TEST_P(LayerTimesOfSize, IsDetectedAndImportedWhole) {
  auto model = gpt2_presets()[GetParam()];
  LayerTimesTables tables(sizes_table(model), times_table(model, {}));
  for (bool tied : {true, false}) {
    tables.import.tied_embedding = model.tied = tied;
    auto trace = import_layer_times(tables.import);
    EXPECT_EQ(trace.metadata.model, model.name);
    EXPECT_NEAR(trace.backward().value(), 1.5 + 2.0 * static_cast<double>(model.layers), kRounding);
    EXPECT_EQ(trace.forward, Seconds(20));
    EXPECT_EQ(trace.optimizer, Seconds(3));
    auto arrival = arrival_order(transformer_parts(model, 1024));
    ASSERT_EQ(trace.gradients.size(), arrival.size());
    for (std::size_t i = 0; i < arrival.size(); ++i) {
      EXPECT_EQ(trace.gradients[i].name, arrival[i].name);
      EXPECT_EQ(trace.gradients[i].elements, arrival[i].elements);
      EXPECT_EQ(trace.registration_order.at(arrival[i].parameter), i);
    }
    auto text = write_trace(trace);
    EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
  }
}

// Width 768: a block has 12 * 768^2 + 13 * 768 = 7087872 elements; in 7.087872 s each takes 1 us. Block 11
// starts after lm_head and ln_f, at 1.5 s: mlp.c_proj (4 * 768^2 + 768 = 2360064) ends at 3.860064, mlp.c_fc
// (2362368) at 6.222432, ln_2 (1536) at 6.223968, attn.c_proj (590592) at 6.81456, c_attn (1771776)
// at 8.586336, ln_1 (1536) at 8.587872 s.
TEST(LayerTimesImport, AModuleTakesItsShareOfElements) {
  const auto& model = gpt2_presets()[0];
  MadeUpTimes times;
  times.block = 7.087872;
  LayerTimesTables tables(sizes_table(model), times_table(model, times));
  auto ready = by_name(import_layer_times(tables.import));
  std::string block = "transformer.h.11.";
  const std::vector<std::pair<std::string, double>> ends{{"mlp.c_proj", 3.860064},  {"mlp.c_fc", 6.222432},
                                                         {"ln_2", 6.223968},        {"attn.c_proj", 6.81456},
                                                         {"attn.c_attn", 8.586336}, {"ln_1", 8.587872}};
  for (const auto& [module, end] : ends) {
    EXPECT_NEAR(ready.at(block + module + ".weight").ready.value(), end, kRounding) << module;
    EXPECT_EQ(ready.at(block + module + ".bias").ready, ready.at(block + module + ".weight").ready) << module;
  }
  EXPECT_EQ(ready.at("transformer.ln_f.weight").ready, Seconds(1.5));
  // Block 10 starts where block 11 ends.
  EXPECT_NEAR(ready.at("transformer.h.10.mlp.c_proj.weight").ready.value(), 8.587872 + 2.360064, kRounding);
  // The embeddings take no time after block 0: 1.5 + 12 * 7.087872.
  EXPECT_NEAR(ready.at("transformer.h.0.ln_1.bias").ready.value(), 86.554464, 1e-11);
  EXPECT_EQ(ready.at("transformer.wpe.weight").ready, ready.at("transformer.h.0.ln_1.bias").ready);
  EXPECT_EQ(ready.at("transformer.wte.weight").ready, ready.at("transformer.h.0.ln_1.bias").ready);
}

// 0.3 and 0.4 give 0.5; with 1.2 of block 11 they give 1.3; half way the block would give sqrt(0.5^2 +
// 0.6^2).
TEST(LayerTimesImport, SpreadsAddInQuadrature) {
  const auto& model = gpt2_presets()[0];
  LayerTimesTables tables(sizes_table(model), times_table(model, {}));
  auto gradients = by_name(import_layer_times(tables.import));
  auto spread = [&](const std::string& name) { return gradients.at(name).ready_spread.value().value(); };
  EXPECT_NEAR(spread("transformer.ln_f.weight"), 0.5, kRounding);
  EXPECT_NEAR(spread("transformer.h.11.ln_1.weight"), 1.3, kRounding);
  EXPECT_NEAR(spread("transformer.h.11.mlp.c_proj.bias"), std::hypot(0.5, 1.2 * 2360064 / 7087872),
              kRounding);
  EXPECT_NEAR(spread("transformer.wte.weight"), std::sqrt(0.25 + 12 * 1.44), kRounding);
}

// Blocks of 2, 3, ..., 13 s: block 11 is the first of the backward pass.
TEST(LayerTimesImport, EveryBlockHasItsOwnTime) {
  const auto& model = gpt2_presets()[0];
  MadeUpTimes times;
  times.step = 1;
  LayerTimesTables tables(sizes_table(model), times_table(model, times));
  auto ready = by_name(import_layer_times(tables.import));
  EXPECT_NEAR(ready.at("transformer.h.11.ln_1.weight").ready.value(), 1.5 + 13, kRounding);
  EXPECT_NEAR(ready.at("transformer.h.10.ln_1.weight").ready.value(), 1.5 + 13 + 12, kRounding);
  EXPECT_NEAR(ready.at("transformer.h.0.ln_1.weight").ready.value(), 1.5 + 90, kRounding);  // 2 + ... + 13
}

TEST(LayerTimesImport, AnUntiedHeadIsReadyAfterItsTime) {
  const auto& model = gpt2_presets()[0];
  LayerTimesTables tables(sizes_table(model), times_table(model, {}));
  tables.import.tied_embedding = false;
  auto trace = import_layer_times(tables.import);
  EXPECT_EQ(trace.gradients.front(),
            (Gradient{"lm_head.weight", 50257 * 768, DType::float32, Seconds(1), Seconds(0.3)}));
  EXPECT_EQ(trace.gradients.size(), 149);
  EXPECT_THAT(trace.metadata.notes,
              ::testing::Contains(HasSubstr("lm_head.weight is a parameter of its own")));
}

TEST(LayerTimesImport, TheMedianAndADtypeCanBeChosen) {
  const auto& model = gpt2_presets()[0];
  LayerTimesTables tables(sizes_table(model), times_table(model, {}));
  tables.import.statistic = "median";  // ten times the mean in these tables
  tables.import.dtype = DType::bfloat16;
  auto trace = import_layer_times(tables.import);
  EXPECT_NEAR(trace.backward().value(), 255, 1e-10);
  EXPECT_EQ(trace.forward, Seconds(200));
  EXPECT_EQ(trace.bytes(), Bytes(124'439'808.0 * 2));
}

TEST(LayerTimesImport, MetadataOfTheCallerStaysAndTheRuleIsNoted) {
  const auto& model = gpt2_presets()[0];
  LayerTimesTables tables(sizes_table(model), times_table(model, {}));
  tables.import.metadata.model = "my model";
  tables.import.metadata.source = "somewhere";
  tables.import.metadata.notes = {"a note of the caller"};
  auto metadata = import_layer_times(tables.import).metadata;
  EXPECT_EQ(metadata.model, "my model");
  EXPECT_EQ(metadata.source, "somewhere");
  EXPECT_THAT(
      metadata.notes,
      ElementsAre(
          "a note of the caller",
          "imported from sizes.csv and times.csv, taking the mean of each layer's time.",
          "Layers follow each other without gaps: lm_head, ln_f, then the blocks from the last to the first.",
          "Inside a layer its modules run one after the other in the reverse of forward order; a module's "
          "share",
          "of the layer's time is its share of the elements, and its weight and bias are ready at its end.",
          "No time was recorded for the embeddings, so wpe and wte are ready when block 0 is done.",
          "wte is also the lm_head's weight: one gradient, ready when both uses are done.",
          "ready_std_s adds the standard deviations of the layers' times in quadrature."));
}

}  // namespace
}  // namespace ddpsim
