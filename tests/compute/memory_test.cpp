#include "sim/compute/memory.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"

namespace ddpsim {
namespace {

// Megatron-DeepSpeed's FP16 optimizer: 16-bit weights and gradients, a float32 copy and two moments, ZeRO-1.
MemorySetup megatron(int shards) {
  return {.state = {2, 2, 12, 4},
          .sharding = Sharding::optimizer,
          .shards = shards,
          .buckets = Bytes(2e9),
          .use = {.fragmentation = 1.15, .overhead = Bytes(4e9), .logit_bytes = 10, .dropout = true},
          .flash = false};
}

std::vector<std::int64_t> split(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    auto end = std::min(text.find('/', at), text.size());
    numbers.push_back(std::stoll(text.substr(at, end - at)));
    at = end + 1;
  }
  return numbers;
}

class Row {
 public:
  Row(const CsvTable& table, const std::vector<Located>& row) : table_(table), row_(row) {}
  [[nodiscard]] std::string text(const char* column) const { return row_[table_.column(column)].text; }
  [[nodiscard]] double number(const char* column) const { return std::stod(text(column)); }
  [[nodiscard]] int whole(const char* column) const { return std::stoi(text(column)); }

 private:
  const CsvTable& table_;
  const std::vector<Located>& row_;
};

Bytes predicted(const Row& row) {
  Transformer model{.name = row.text("set"),
                    .hidden = row.whole("hidden"),
                    .layers = row.whole("layers"),
                    .heads = row.whole("heads"),
                    .kv_heads = row.whole("kv_heads"),
                    .head_dim = row.whole("hidden") / row.whole("heads"),
                    .ffn = row.whole("ffn"),
                    .vocab = row.whole("vocab"),
                    .positions = row.whole("positions"),
                    .gated = row.text("gated") == "True",
                    .tied = row.text("tied") == "True",
                    .biases = row.text("bias") == "True" ? Biases::all : Biases::none};
  StepShape shape{.micro_batch = row.whole("micro_batch"),
                  .sequence = row.whole("sequence"),
                  .tensor = row.whole("tensor"),
                  .sequence_parallel = row.text("sequence_parallel") == "1"};
  for (const auto& [name, recompute] : kRecomputeNames)
    if (name == row.text("recompute")) shape.recompute = recompute;
  auto setup = megatron(row.whole("data"));
  setup.state.gradients = row.number("gradient_bytes");
  setup.state.step_copy = row.number("step_copy_bytes");
  if (row.text("set") == "titan") {
    setup = {.sharding = Sharding::weights, .shards = row.whole("data")};
    setup.use.logit_bytes = row.number("logit_bytes");
  }
  auto layers = split(row.text("stage_layers"));
  auto stages = static_cast<int>(layers.size());
  Bytes largest;
  for (int i = 0; i < stages; ++i) {
    PipelineStage stage{
        {{BlockKind(), layers[static_cast<std::size_t>(i)], layers[static_cast<std::size_t>(i)]}},
        static_cast<double>(std::min(row.whole("micro_batches"), stages - i)),
        i == 0,
        i == stages - 1};
    largest = std::max(largest, memory_of(model, shape, 2, setup, stage).peak());
  }
  return largest;
}

// Every row as another implementation of the formulas has it, and each set within 6 % of what was measured.
TEST(Memory, PublishedRows) {
  auto table = parse_csv(load_text(DDPSIM_SOURCE_DIR "/tests/compute/memory_rows.csv", "rows"), "rows", "");
  struct Errors {
    double sum = 0, bias = 0;
    int rows = 0;
  };
  std::map<std::string, Errors> errors;
  for (const auto& fields : table.rows) {
    Row row(table, fields);
    auto bytes = predicted(row);
    EXPECT_NEAR(bytes.value() / row.number("predicted_bytes"), 1, 1e-9)
        << row.text("set") << " " << row.text("hidden");
    auto& set = errors[row.text("set") == "titan" ? "titan" : "bigscience"];
    double error = bytes.value() / row.number("measured_bytes") - 1;
    set.sum += std::abs(error);
    set.bias += error;
    ++set.rows;
  }
  ASSERT_EQ(errors.size(), 2U);
  for (const auto& [set, one] : errors) {
    std::printf("%s: %d rows, bias %+.1f %%, mean error %.1f %%\n", set.c_str(), one.rows,
                100 * one.bias / one.rows, 100 * one.sum / one.rows);
    EXPECT_LT(one.sum / one.rows, 0.06) << set;
  }
}

// Rajbhandari et al., "ZeRO", figure 1: 7.5e9 parameters, 64 ranks, K = 12: 120, 31.4, 16.6 and 1.9 GB.
TEST(Memory, ZeroAsInItsPaper) {
  // 7.5e9 parameters in one matrix: the embedding of a model without layers.
  Transformer model{.name = "psi", .hidden = 7'500'000, .heads = 1, .kv_heads = 1, .vocab = 1000};
  MemorySetup setup{.state = {2, 2, 12, 0}, .shards = 64, .use = {.overhead = Bytes()}};
  auto gigabytes = [&](Sharding sharding) {
    setup.sharding = sharding;
    auto parts = memory_of(model, {.micro_batch = 0, .sequence = 0}, 2, setup, {});
    return (parts.parameters + parts.gradients + parts.optimizer).value() / 1e9;
  };
  EXPECT_NEAR(gigabytes(Sharding::none), 120, 1e-9);
  EXPECT_NEAR(gigabytes(Sharding::optimizer), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::gradients), 16.6, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::weights), 1.9, 0.05);
}

}  // namespace
}  // namespace ddpsim
