// The recorded data under traces/: still what their sources say.
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/transformer_modules.hpp"
#include "sim/trace/import/importer.hpp"
#include "sim/trace/import/layer_times.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim {
namespace {

const std::string kRoot = DDPSIM_SOURCE_DIR;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RecordedTraces, Gpt2LargeIsRegeneratedByteForByte) {
  auto path = kRoot + "/traces/gpt2-large-a100-bs4.csv";
  LayerTimesImport import;
  import.sizes_path = kRoot + "/tests/trace/data/layer-sizes-gpt2_large-bs4.csv";
  import.times_path = kRoot + "/tests/trace/data/layer-times-gpt2_large-bs4.csv";
  import.metadata.device = "NVIDIA A100";
  import.metadata.batch_size = 4;
  import.metadata.sequence_length = 1024;
  import.metadata.source = read_trace(path).metadata.source;  // free text, kept in one place only
  EXPECT_EQ(write_trace(import_layer_times(import)), contents(path));
}

// From the table of times: lm_head 56.9360342 ms, ln_f 0.0936471 ms, block 35 21.4548406 ms. ln_f is ready
// after the first two, at 57.0296813 ms; h.35.mlp.c_proj has (4 * 1280^2 + 1280) / 19677440 = 6554880 /
// 19677440 of its block and is ready 21.4548406 ms * 0.33311650... = 7.1469615 ms later. The mean times of
// all layers add up to 829.4694097 ms.
TEST(RecordedTraces, Gpt2LargeHoldsTheTimesOfItsSource) {
  auto trace = read_trace(kRoot + "/traces/gpt2-large-a100-bs4.csv");
  EXPECT_EQ(trace.metadata.model, "gpt2-large");
  ASSERT_EQ(trace.gradients.size(), 436);
  EXPECT_EQ(trace.bytes(), Bytes(774'030'080.0 * 4));
  EXPECT_EQ(trace.gradients.front().name, "transformer.ln_f.weight");
  EXPECT_DOUBLE_EQ(trace.gradients.front().ready.value(), 57.0296813e-3);
  EXPECT_EQ(trace.gradients[3].name, "transformer.h.35.mlp.c_proj.weight");
  EXPECT_NEAR(trace.gradients[3].ready.value(), 57.0296813e-3 + 7.1469615e-3, 1e-10);
  EXPECT_EQ(trace.gradients.back().name, "transformer.wte.weight");
  EXPECT_NEAR(trace.backward().value(), 829.4694097e-3, 1e-12);
  EXPECT_EQ(trace.forward, Seconds(0.3974653525));
  EXPECT_EQ(trace.optimizer, Seconds(0.0797461278));
}

// 19 message sizes, the last 4 * 1676718080 bytes; its bus bandwidth 2 * 7 / 8 * 6.706872320 GB / 0.447628 s
// = 26.2 GB/s.
TEST(RecordedTraces, AllreduceTableHoldsTheTimesOfItsSource) {
  auto table = read_csv(kRoot + "/traces/allreduce-8xa100.csv", "an all-reduce table");
  ASSERT_EQ(table.rows.size(), 19);
  EXPECT_EQ(table.comments[0].key.text, "ddpsim-allreduce");
  EXPECT_EQ(table.comments[0].value.text, "1");
  EXPECT_EQ(table.comments[1].key.text, "world_size");
  EXPECT_EQ(table.comments[1].value.text, "8");
  EXPECT_EQ(table.comments[2].key.text, "source");
  auto bytes = table.column("bytes"), time = table.column("time_s"), std = table.column("std_s");
  EXPECT_EQ(table.rows.front()[bytes].text, "4");
  EXPECT_EQ(table.rows.front()[time].text, "0.002881");
  EXPECT_EQ(table.rows.front()[std].text, "0.000102");
  const auto& last = table.rows.back();
  auto busbw = 2.0 * 7 / 8 * parse_number(last[bytes], 1, 1e18) / parse_number(last[time], 0, 1e9);
  EXPECT_NEAR(busbw, 26.2e9, 0.05e9);
}

// A profiler's trace of ResNet-50 on two A100s, its all-reduces as a table of costs and as a timeline.
TEST(RecordedTraces, ResNet50IsRegeneratedByteForByte) {
  auto path = kRoot + "/traces/resnet50-2xa100";
  ImportRequest request;
  request.inputs = {kRoot + "/tests/trace/import/data/resnet50-ddp-2xa100.json.gz"};
  request.metadata.model = "resnet50";
  request.metadata.source = read_trace(path + ".csv").metadata.source;
  auto imported = import_trace(find_importer("pytorch-profiler"), request);
  EXPECT_EQ(write_trace(imported.trace), contents(path + ".csv"));
  EXPECT_EQ(write_all_reduce_table(*imported.communication), contents(path + "-allreduce.csv"));
  EXPECT_EQ(write_recorded_communication(*imported.communication), contents(path + "-collectives.csv"));
}

// What `ddpsim capture` recorded on a CPU: the names and orders of sim/model/transformer_modules.hpp.
class CapturedOnACpu : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(RecordedTraces, CapturedOnACpu,
                         ::testing::Range(std::size_t{0}, gpt2_presets().size()));

TEST_P(CapturedOnACpu, HasTheGradientsOfItsModelInOrder) {
  const auto& model = gpt2_presets()[GetParam()];
  auto trace = read_trace(fmt::format("{}/traces/{}-cpu.csv", kRoot, model.name));
  EXPECT_EQ(trace.metadata.model, model.name);
  auto parts = transformer_parts(model, 1024);
  auto arrival = arrival_order(parts), registration = registration_order(parts);
  ASSERT_EQ(trace.gradients.size(), arrival.size());
  for (std::size_t i = 0; i < arrival.size(); ++i) {
    EXPECT_EQ(trace.gradients[i].name, arrival[i].name);
    EXPECT_EQ(trace.gradients[i].elements, arrival[i].elements);
    EXPECT_GT(trace.gradients[i].ready_spread, Seconds(0));
    EXPECT_EQ(trace.gradients[trace.registration_order[i]].name, registration[i].name);
  }
  EXPECT_GT(trace.forward, Seconds(0));
  EXPECT_GT(trace.optimizer, Seconds(0));
}

}  // namespace
}  // namespace ddpsim
