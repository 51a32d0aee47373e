// Floating-point operations by a model's sizes beside those that PyTorch counted of the same model's
// operators.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"
#include "sim/text/recording_file.hpp"

namespace ddpsim::testing {
namespace {

struct Counted {
  std::string recording, model;
  double layers, width, ffn, micro_batch, sequence;
  bool recomputes = false;
  [[nodiscard]] double tokens() const { return micro_batch * sequence; }
};

const std::string kLlama1b =
    "{kind: transformer, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, ffn: 8192, gated: true, "
    "vocab: 128256, tied: true}";
const std::string kLlama70b4 =
    "{kind: transformer, layers: 4, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, gated: true, "
    "vocab: 128256, tied: false}";
const Counted kCounted[]{
    {"gpt2-bf16-16x1024", "gpt2", 12, 768, 4 * 768, 16, 1024},
    {"gpt2-autocast-16x1024", "gpt2", 12, 768, 4 * 768, 16, 1024},
    {"fsdp2-large-4x1024", "gpt2-large", 36, 1280, 4 * 1280, 4, 1024},
    {"xl-autocast-checkpoint-8x1024", "gpt2-xl", 48, 1600, 4 * 1600, 8, 1024, true},
    {"llama-1b-bf16-1x8192", kLlama1b, 16, 2048, 8192, 1, 8192},
    {"llama-1b-bf16-checkpoint-4x2048", kLlama1b, 16, 2048, 8192, 4, 2048, true},
    {"llama-70b-4-bf16-1x4096", kLlama70b4, 4, 8192, 28672, 1, 4096},
    {"fsdp2-mixed-llama-8b-checkpoint-1x4096", "llama-3-8b", 32, 4096, 14336, 1, 4096, true}};

StepWork by_sizes(const Counted& one) {
  auto text = fmt::format(
      "workload: {{model: {}, micro_batch: {}, sequence: {}{}}}\n"
      "cluster: {{topology: superpod-h100, world_size: 1}}\nevidence: none\n",
      one.model, one.micro_batch, one.sequence, one.recomputes ? ", recompute: full" : "");
  auto root = config::parse_yaml({make_source("sizes.yaml", text), text}, "a scenario");
  return resolve(Files("sizes.yaml"), root).model_step->work;
}

// With what is recomputed, and that alone.
std::pair<double, double> recorded(const std::string& name) {
  auto recording =
      read_recording(std::string(DDPSIM_SOURCE_DIR) + "/measurements/recorded/" + name + ".jsonl.gz");
  double all = 0, again = 0;
  for (const auto& item : recording.items)
    if (const auto* op = std::get_if<RecordedOperator>(&item)) {
      all += op->flops;
      if (op->phase == RecordedPhase::recompute) again += op->flops;
    }
  return {all, again};
}

// All that differs: a fused attention kernel's backward pass has five products of the forward pass' two, and
// MFU's convention counts four, as nothing were computed again there (docs/model.md); and recomputation that
// stops early leaves out the block's last product, ffn x width.
TEST(RecordedFlops, AreThoseOfTheModelsSizes) {
  for (const auto& one : kCounted) {
    auto [all, again] = recorded(one.recording);
    auto work = by_sizes(one);
    double attention = 4 * one.layers * one.sequence * one.width * one.tokens();
    double last_products = 2 * one.layers * one.tokens() * one.ffn * one.width;
    EXPECT_NEAR((all - again) / (work.model.value() + 0.5 * attention), 1, 1e-6) << one.recording;
    if (one.recomputes)
      EXPECT_NEAR((again + last_products) / work.recomputed.value(), 1, 1e-6) << one.recording;
    else
      EXPECT_EQ(again, 0) << one.recording;
  }
}

}  // namespace
}  // namespace ddpsim::testing
