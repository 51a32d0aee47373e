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

// Each set within 6 % of what was measured.
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
    auto parts = memory_of(model, {.micro_batch = 0, .sequence = 0}, 2, setup, {.is_last = false});
    return (parts.parameters + parts.gradients + parts.optimizer).value() / 1e9;
  };
  EXPECT_NEAR(gigabytes(Sharding::none), 120, 1e-9);
  EXPECT_NEAR(gigabytes(Sharding::optimizer), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::gradients), 16.6, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::weights), 1.9, 0.05);
}

Transformer small_gpt() {
  return {.name = "gpt",
          .hidden = 512,
          .layers = 12,
          .heads = 8,
          .kv_heads = 8,
          .head_dim = 64,
          .ffn = 2048,
          .vocab = 50304};
}

// Megatron's GPT of 12 blocks, 512 wide, whose vocabulary of 50304 the last of four ranks has, with three
// chunks of a block each: (3 - 1) 4 + 1 = 9 blocks in flight. A token keeps of each 4 x 512 inputs of norms
// and matrices, 3 x 512 queries, keys and values, 512 of attention's output and 2 x 2048 of the feed-forward
// layer, in 2 bytes, and two masks of 512; unfused, its scores twice and their mask: 5 bytes x 8 heads x
// 1024.
TEST(Memory, ChunksOfMegatronsLastRank) {
  auto model = small_gpt();
  StepShape shape{.micro_batch = 4, .sequence = 1024};
  PipelineStage last{{{BlockKind(), 3}}, 3, false, true};
  MemorySetup setup{.state = {2, 4, 12}, .use = {.logit_bytes = 6, .dropout = true}};
  auto activations = [&] { return memory_of(model, shape, 2, setup, last).activations.value(); };
  constexpr double kBlock = 4096. * (2 * (4 * 512 + 3 * 512 + 512 + 2 * 2048) + 2 * 512);
  EXPECT_NEAR(kBlock / 1e6, 71.3, 0.05);
  constexpr double kLoss = 4096. * (6 * 50304 + 2 * 2 * 512);
  EXPECT_DOUBLE_EQ(activations(), 9 * kBlock + kLoss);
  setup.flash = false;
  EXPECT_DOUBLE_EQ(activations(), 9 * (kBlock + 4096. * 5 * 8 * 1024) + kLoss);
}

// Four norms keep two inputs more of 512 values; one norm keeps one, and its output serves both layers.
TEST(Memory, NormsOfABlock) {
  StepShape shape{.micro_batch = 4, .sequence = 1024};
  PipelineStage last{{{BlockKind(), 1}}, 1, false, true};
  auto activations = [&](BlockNorms norms) {
    auto model = small_gpt();
    model.norms = norms;
    return memory_of(model, shape, 2, {.state = {2, 4, 12}}, last).activations.value();
  };
  double value = 4096. * 2 * 512, usual = activations(BlockNorms::before);
  EXPECT_DOUBLE_EQ(activations(BlockNorms::both) - usual, 2 * value);
  EXPECT_DOUBLE_EQ(usual - activations(BlockNorms::one), 2 * value);
  EXPECT_EQ(activations(BlockNorms::after), usual);
}

// Of every transformer with a name, two bytes of each parameter that it counts.
TEST(Memory, HoldsEveryParameter) {
  for (const auto& model : transformer_presets()) {
    PipelineStage whole{{}, 1, true, true};
    for (const auto& [kind, count] : model.kinds()) whole.blocks.push_back({kind, count});
    constexpr std::int64_t kSequence = 512;
    auto parts = memory_of(model, {.micro_batch = 1, .sequence = kSequence}, 2, {.state = {2, 2, 12}}, whole);
    EXPECT_EQ(parts.parameters.value(), 2 * static_cast<double>(model.parameters(kSequence))) << model.name;
  }
}

// Gradients come as activations go: a step without accumulation holds the loss or all gradients, not both,
// and autocast's copies of the weights with the former.
TEST(Memory, GradientsComeAsActivationsGo) {
  auto model = small_gpt();
  PipelineStage all{{{BlockKind(), 12}}};
  MemorySetup setup{.state = {4, 4, 8, 0, 2}, .keeps_gradients = false};
  auto at = [&](std::int64_t tokens) {
    return memory_of(model, {.micro_batch = 1, .sequence = tokens}, 2, setup, all);
  };
  auto few = at(16), many = at(16384);
  double parameters = few.gradients.value() / 4;
  EXPECT_DOUBLE_EQ(few.parameters.value(), 4 * parameters);
  EXPECT_EQ(few.activations, Bytes());
  EXPECT_EQ(many.gradients, Bytes());
  EXPECT_DOUBLE_EQ(many.parameters.value(), 6 * parameters);
  setup.keeps_gradients = true;
  EXPECT_EQ(at(16384).allocated(), many.allocated() + few.gradients);
}

// Sharded weights of llama-3-8b in float32, 32 ranks: at the loss the ends' unit is gathered in 16 bits, at
// the end of the backward pass its gradients are copied from 16 to 32; with a batch in which the loss is
// small, that is the peak.
TEST(Memory, GatheredUnits) {
  Transformer model{.name = "llama",
                    .hidden = 4096,
                    .layers = 32,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .ffn = 14336,
                    .vocab = 128256,
                    .gated = true,
                    .tied = false};
  PipelineStage all{{{BlockKind(), 32, 32}}};
  MemorySetup setup{
      .state = {4, 4, 8}, .sharding = Sharding::weights, .shards = 32, .keeps_gradients = false};
  auto at = [&](std::int64_t tokens) {
    return memory_of(model, {.micro_batch = 1, .sequence = tokens, .recompute = Recompute::full}, 2, setup,
                     all);
  };
  constexpr double kEnds = 2. * 128256 * 4096 + 4096;
  EXPECT_DOUBLE_EQ(at(8192).buckets.value(), 2 * kEnds);
  EXPECT_EQ(at(8192).gradients, Bytes());
  EXPECT_DOUBLE_EQ(at(128).buckets.value(), (2 + 4) * kEnds);
  EXPECT_GT(at(128).gradients, Bytes());
}

// To the byte what PyTorch's FSDPMemTracker counts of three models on eight ranks: shards of weights,
// gradients and moments; at the peak the gathered units, the buffers they are gathered into and reduced from.
// What the tracker counts among temporary tensors, gradients of a block and of the head, is taken away.
TEST(Memory, ShardsAsPyTorchTracksThem) {
  auto table =
      parse_csv(load_text(DDPSIM_SOURCE_DIR "/measurements/memory/fsdp_tracker.csv", "rows"), "rows", "");
  EXPECT_EQ(table.rows.size(), 3U);
  for (const auto& fields : table.rows) {
    Row row(table, fields);
    bool is_gated = row.text("gated") == "true";
    int heads = row.whole("heads"), hidden = row.whole("hidden");
    Transformer model{.name = row.text("model"),
                      .hidden = hidden,
                      .layers = row.whole("layers"),
                      .heads = heads,
                      .kv_heads = heads,
                      .head_dim = hidden / heads,
                      .ffn = row.whole("ffn"),
                      .vocab = row.whole("vocab"),
                      .gated = is_gated,
                      .tied = false,
                      .biases = is_gated ? Biases::none : Biases::all};
    StepShape shape{.micro_batch = 1, .sequence = 16};
    MemorySetup setup{
        .state = {4, 4, 8}, .sharding = Sharding::weights, .shards = 8, .keeps_gradients = false};
    int bytes = row.text("mixed") == "true" ? 2 : 4;
    auto memory = stage_memory(model, shape, bytes, setup, {{{BlockKind(), model.layers}}});
    EXPECT_EQ(memory.always.parameters, Bytes(row.number("sharded_param"))) << model.name;
    EXPECT_EQ(memory.gradients, Bytes(row.number("sharded_grad"))) << model.name;
    EXPECT_EQ(memory.always.optimizer, Bytes(row.number("opt"))) << model.name;
    double temporary = bytes * (held_parameters(model, shape, BlockKind()).all() +
                                static_cast<double>(model.vocab * model.hidden));
    EXPECT_EQ(memory.units.backward - Bytes(temporary),
              Bytes(row.number("unsharded_param") + row.number("all_gather") + row.number("reduce_scatter")))
        << model.name;
  }
}

// 32 MiB each for the products of two threads from Hopper on, 8.125 before; Transformer Engine's, and four
// more for experts.
TEST(Memory, Workspaces) {
  constexpr double kMiB = 1024 * 1024;
  EXPECT_EQ(product_workspaces("ampere", false, false), Bytes(16.25 * kMiB));
  EXPECT_EQ(product_workspaces("hopper", true, false), Bytes(96 * kMiB));
  EXPECT_EQ(product_workspaces("blackwell", true, true), Bytes(224 * kMiB));
}

}  // namespace
}  // namespace ddpsim
