// `workload` with a model in place of a trace.
#include "sim/resolve/workload_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/gpu_file.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/config/text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::HasSubstr;

GpuDescription gpu_named(const std::string& name) {
  return read_gpu(*find_preset(PresetKind::gpus, name));
}

ModelWorkload read(const std::string& workload, const std::string& gpu = "h100-sxm",
                   bool is_sharded = false) {
  config::Value root;
  root.kind = config::Value::Kind::map;
  root.entries.push_back({"workload", {}, parse(workload)});
  auto given = read_partial_job(root);
  Files files("");
  return read_workload_model(files, given, gpu_named(gpu), is_sharded);
}

std::string error_of(const std::string& workload, const std::string& gpu = "h100-sxm") {
  return brief_error([&] { read(workload, gpu); });
}

TEST(WorkloadModel, Defaults) {
  auto workload = read("{model: llama-2-7b, micro_batch: 2, sequence: 4096}");
  ASSERT_TRUE(workload.step);
  const auto& step = workload.step->step;
  EXPECT_EQ(step.precision, Precision::bfloat16);
  EXPECT_EQ(step.gradients, DType::float32);
  EXPECT_EQ(step.shape, (StepShape{.micro_batch = 2, .sequence = 4096, .casts_gradients = true}));
  EXPECT_EQ(workload.step->software.name, "fsdp-eager-2023");
  EXPECT_EQ(workload.step->software.fitted_on, "H100");
  EXPECT_TRUE(workload.step->software.flash);
  ASSERT_EQ(workload.notes.size(), 1U);
  EXPECT_EQ(workload.notes[0].code, "compute-estimated");
  EXPECT_EQ(
      workload.notes[0].text,
      "compute times are estimated (framework fsdp-eager-2023, the default): products reach 0.69 of the "
      "peak; other steps of its machine are 2.7 % off on average; machines and frameworks span 0.52 to "
      "0.834: one measured step settles it (ddpsim calibrate --step)");
}

// A strategy that shards casts gradients as it reduces them, not in the backward pass.
TEST(WorkloadModel, ShardedGradientsAreNotCastInBackward) {
  const std::string workload = "{model: llama-2-7b, micro_batch: 1, sequence: 4096}";
  EXPECT_FALSE(read(workload, "h100-sxm", true).step->step.shape.casts_gradients);
  EXPECT_LT(read(workload, "h100-sxm", true).trace.backward(), read(workload).trace.backward());
}

TEST(WorkloadModel, EveryKey) {
  auto workload = read(
      "{model: llama-2-7b, micro_batch: 1, sequence: 2048, dtype: fp8, gradients: bf16, recompute: full, "
      "attention: {kernel: unfused, causal: false}, framework: te-2025}");
  const auto& step = workload.step->step;
  EXPECT_EQ(step.precision, Precision::float8);
  EXPECT_EQ(step.gradients, DType::bfloat16);
  EXPECT_EQ(step.shape, (StepShape{.micro_batch = 1, .sequence = 2048, .recompute = Recompute::full}));
  EXPECT_FALSE(workload.step->software.flash);
  EXPECT_FALSE(workload.step->model.causal);
  EXPECT_EQ(workload.trace.gradients[0].dtype, DType::bfloat16);
}

// A V100 has no bfloat16.
TEST(WorkloadModel, WithoutBfloat16ItIsFloat16) {
  auto workload = read("{model: gpt2, micro_batch: 1}", "v100-sxm2-32gb");
  EXPECT_EQ(workload.step->step.precision, Precision::float16);
  EXPECT_EQ(workload.step->step.shape.sequence, 1024);  // GPT-2's positions
  EXPECT_EQ(workload.step->software.name, "apex-2019");
  EXPECT_EQ(workload.notes.size(), 1U);
  auto turing = read("{model: gpt2, micro_batch: 1}", "t4");
  ASSERT_EQ(turing.notes.size(), 2U);
  EXPECT_EQ(turing.notes[1],
            (Note{"software-other-gpu",
                  "software apex-2019 was not fitted on NVIDIA T4: its shares are those of V100"}));
}

// As a layer trace it is read back as it was written, forward times with it.
TEST(WorkloadModel, ItsTraceCanBeWritten) {
  auto trace = read("{model: gpt2, micro_batch: 1}").trace;
  auto text = write_trace(trace);
  EXPECT_THAT(text, ::testing::StartsWith("# ddpsim-trace: 2\n"));
  EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
  for (const auto& gradient : trace.gradients) {
    EXPECT_GT(gradient.forward_end, Seconds(0)) << gradient.name;
    EXPECT_LE(*gradient.forward_end, *trace.forward) << gradient.name;
  }
  // The head's matrix is the embedding's, which is looked up first and arrives last.
  EXPECT_EQ(trace.gradients.back().name, "transformer.wte.weight");
  EXPECT_LT(trace.gradients.back().forward_end, trace.gradients.front().forward_end);
}

TEST(WorkloadModel, ByItsSizesOnTheSpot) {
  auto workload = read(
      "{model: {kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100}, micro_batch: 1, sequence: "
      "128}");
  EXPECT_EQ(workload.step->model.name, "model");
  EXPECT_EQ(workload.step->model.layers, 2);
}

TEST(WorkloadModel, ByAFile) {
  TemporaryFolder folder;
  auto sizes = folder.write("small.yaml", "{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100}");
  auto config = folder.write("config.json",
                             R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                                 "vocab_size": 100})");
  auto of = [](const std::string& path) {
    return *read("{model: " + path + ", micro_batch: 1, sequence: 128}").step;
  };
  EXPECT_EQ(of(sizes).model.name, "small");
  EXPECT_EQ(of(config).model.hidden, 64);
}

TEST(WorkloadModel, AListOfLayersSaysNothingOfMemory) {
  auto workload = read("{model: resnet50, micro_batch: 64, sequence: 1}");
  EXPECT_FALSE(workload.step);
  EXPECT_EQ(workload.trace.gradients.size(), 161U);
  EXPECT_THAT(workload.notes[0].text,
              HasSubstr("; fitted to transformers, and how far that is off a list of layers is not known;"));
  EXPECT_THAT(workload.notes[0].text, ::testing::Not(HasSubstr("on average")));
  EXPECT_EQ(workload.notes.back(), (Note{"memory-left-out",
                                         "a list of layers says nothing of activations: whether it fits into "
                                         "the GPU's memory is not known"}));
}

TEST(WorkloadModel, Refused) {
  EXPECT_EQ(error_of("{model: lama-2-7b, micro_batch: 1, sequence: 4096}"),
            "a.yaml:1:9-17: no model of the name 'lama-2-7b'; did you mean 'llama-2-7b'?; 'ddpsim list "
            "models' lists them; a path has a '/' or an extension");
  EXPECT_EQ(error_of("{model: gpt2, micro_batch: 1, framework: te-2024}"),
            "a.yaml:1:42-48: no software of the name 'te-2024'; did you mean 'te-2025'?; 'ddpsim list "
            "software' lists them; a path has a '/' or an extension");
  EXPECT_EQ(error_of("{model: gpt2, micro_batch: 1, framework: te-2025, compute: mine.yaml}"),
            "a.yaml:1:60-68: workload.compute and workload.framework exclude each other; the calibration "
            "names the framework that it started from");
  EXPECT_EQ(error_of("{model: gpt2}"),
            "a.yaml:1:1: 'workload' lacks the key 'micro_batch'; add the samples a GPU computes at once: "
            "micro_batch: 4");
  EXPECT_EQ(error_of("{model: llama-2-7b, micro_batch: 1}"),
            "a.yaml:1:1: 'workload' lacks the key 'sequence'; add the tokens of a sample: sequence: 4096");
  EXPECT_EQ(error_of("{model: mpt-7b, micro_batch: 1}"),
            "a.yaml:1:1: 'workload' lacks the key 'sequence'; add the tokens of a sample: sequence: 4096");
}

// A list of layers may say what every sample is.
TEST(WorkloadModel, PicturesHaveAsManyTokensAsTheirModelSays) {
  EXPECT_EQ(read("{model: resnet50, micro_batch: 32}").trace.metadata.sequence_length, 1);
  EXPECT_EQ(read("{model: vit-l, micro_batch: 32}").trace.metadata.sequence_length, 197);
  EXPECT_EQ(read("{model: vit-l, micro_batch: 32, sequence: 577}").trace.metadata.sequence_length, 577);
  EXPECT_THAT(error_of("{model: cs336-xl, micro_batch: 32}"), HasSubstr("lacks the key 'sequence'"));
}

TEST(WorkloadModel, ModelsRefused) {
  EXPECT_EQ(error_of("{model: gpt2, micro_batch: 1, sequence: 2048}"),
            "a.yaml:1:41-44: gpt2 has 1024 learned positions, and a sequence is 2048 tokens; use a sequence "
            "of 1024 at most");
  EXPECT_EQ(error_of("{model: gpt2, micro_batch: 1, dtype: bf16}", "v100-sxm2-32gb"),
            "a.yaml:1:38-41: NVIDIA V100 SXM2 32GB has no peak for bfloat16; its file has one for float16, "
            "float32, float64");
  EXPECT_EQ(error_of("{model: gpt2, micro_batch: 1, dtype: fp8}", "a100-sxm4-80gb"),
            "a.yaml:1:38-40: NVIDIA A100 SXM4 80GB has no peak for float8; its file has one for float16, "
            "bfloat16, float32, float64, tfloat32");
  EXPECT_EQ(
      error_of("{model: gpt2, micro_batch: 1, framework: megatron-eager-2021, attention: {kernel: flash}}",
               "a100-sxm4-80gb"),
      "a.yaml:1:83-87: software 'megatron-eager-2021' says nothing of a flash kernel's share of the peak; "
      "name the kernel: triton-2023, fa2, fa3, fa4, cudnn8, cudnn9");
  EXPECT_EQ(
      error_of("{model: gpt2, micro_batch: 1, attention: {kernel: fa22}}", "a100-sxm4-80gb"),
      "a.yaml:1:51-54: no attention kernel is called 'fa22'; did you mean 'fa2'?; those with a name are "
      "flash, unfused, triton-2023, fa2, fa3, fa4, cudnn8, cudnn9");
  EXPECT_EQ(error_of("{model: bert-base-qa, micro_batch: 1, sequence: 384, recompute: full}"),
            "a.yaml:1:65-68: a list of layers says nothing that 'recompute' could change; only a "
            "transformer's sizes (kind: transformer) do");
  EXPECT_EQ(error_of("{model: bert-base-qa, micro_batch: 1, sequence: 384, attention: {causal: false}}"),
            "a.yaml:1:65: a list of layers says nothing that 'attention' could change; only a transformer's "
            "sizes (kind: transformer) do");
  EXPECT_EQ(error_of("{model: bert-base-qa, micro_batch: 1, sequence: 384, dtype: fp8}"),
            "a.yaml:1:61-63: a list of layers is computed in fp32, fp16 or bf16; only a transformer knows "
            "tf32 and fp8");
}

}  // namespace
}  // namespace ddpsim::testing
