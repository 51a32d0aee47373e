#include "sim/base/file_kind.hpp"

#include <set>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using namespace std::string_literals;

std::string_view name_of(std::string_view head) {
  const auto* kind = kind_of(head);
  return kind ? kind->name : "";
}

TEST(FileKind, ByItsFirstBytes) {
  const std::pair<std::string, std::string_view> cases[]{
      {"\x1f\x8b\x08\x00"s, "data of gzip"},
      {"SQLite format 3\0more"s, "an SQLite database"},
      {"PK\x03\x04rest", "an archive of zip, as torch.save writes it"},
      {"\x80\x04\x95rest", "a pickle of Python"},
      {"\x89PNG\r\n", "a picture"},
      {"# comment\n# ddpsim-trace: 1\n", "a layer trace"},
      {"# ddpsim-allreduce: 1\n", "an all-reduce table"},
      {"# ddpsim-recorded: 1\n", "a table of recorded collectives"},
      {"{\"study\": \"1234\", \"points\": 4}\n", "the results of a study"},
      {"{\"schema\": \"1.1.0\", \"pid\": 7, \"nodes\": [",
       "an execution trace of PyTorch (ExecutionTraceObserver)"},
      {"\n{\n  \"schemaVersion\": 1,\n", "a trace of the PyTorch profiler"},
      {"{\"traceEvents\": [", "a trace of the PyTorch profiler"},
      {"\xEF\xBB\xBF<system version=\"1\">\n", "XML of NCCL"},
      {"==== Weight between two GPUs ====\n", "the output of rocm-smi --showtopo"},
      {"\x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\n", "the output of nvidia-smi topo -m"},
      {"[4m\tGPU0\tGPU1\tCPU Affinity[0m\n", "the output of nvidia-smi topo -m"},  // copied from a terminal
      {" \tGPU0\tGPU1\n GPU0\tX\tOK\n\nLegend:\n  X    = Self\n  OK   = Status Ok\n",
       "the output of nvidia-smi topo -p2p r"},
      {"[1,0]<stdout>:# nThread 1 nGpus 1\n", "the output of nccl-tests"},
      {" iteration 1/ 5 | elapsed time per iteration (ms): 7.5 |\n", "a training log"},
      {"host:1:2 [0] NCCL INFO comm 0x1\n", "a log of NCCL"},
      {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4\n", "a workload of ASTRA-sim or SimAI"},
      {"#!/bin/bash\nARGS=\"--num-layers 2 --hidden-size 64\"\n", "a script with Megatron-LM's flags"},
      {"#!/usr/bin/env python3\nimport torch\n", "a script"},
      {"{\"hidden\": 64, \"feedforward\": 256, \"attn_heads\": 4}", "a model of Calculon"},
      {"{\"train_batch_size\": 16}", "a configuration of DeepSpeed"},
      {"{\"model_type\": \"llama\"}", "a model's config.json"},
      {"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n", "a configuration of Accelerate"},
      {",Name,No. Params\n", "a table of layer sizes"},
      {"OperatorID,OperatorName,Operator_input\n", "a table of operators"},
      {"Index,TensorID,TensorShape,TensorNumElement\n", "a table of tensors"},
      {"# mine\nkind: cluster\n", "a topology"},
      {"kind: transformer\nlayers: 2\n", "a model"},
      {"kind: gpu\n", "a GPU"},
      {"kind: software\n", "software"},
      {"cluster: {topology: t.yaml}\nworkload: {trace: t.csv}\n", "a scenario"},
      {"{\"cluster\": {}, \"workload\": {}}", "a scenario"}};
  std::set<std::string_view> seen;
  for (const auto& [head, name] : cases) {
    EXPECT_EQ(name_of(head), name) << head;
    seen.insert(name);
  }
  EXPECT_EQ(seen.size(), 33U);
}

TEST(FileKind, UnknownOnes) {
  for (std::string_view head :
       {"", "{}", "[]", "text", "bytes,time_us\n1,2\n", "[1,0]<stdout>:hello", "# GPU0\n"})
    EXPECT_EQ(name_of(head), "") << head;
}

TEST(FileKind, AScenarioMayNameOtherProgramsInItsComments) {
  EXPECT_EQ(
      name_of(
          "# as --tensor-model-parallel-size 8; elapsed time per iteration (ms): 7\nworkload: {model: gpt2}\n"
          "cluster: {topology: t.yaml}\n"),
      "a scenario");
}

TEST(FileKind, TheHintIsItsCommand) {
  EXPECT_EQ(
      testing::brief_error([] { check_kind("my traces/run.json", "{\"traceEvents\": [", "a scenario"); }),
      "my traces/run.json: is a trace of the PyTorch profiler, not a scenario; ddpsim trace import 'my "
      "traces/run.json' --out trace.csv");
  EXPECT_EQ(testing::brief_error([] { check_kind("FILE", "kind: ring\n", "a scenario"); }),
            "FILE: is a topology, not a scenario; ddpsim topology show FILE; in a scenario cluster: "
            "{topology: FILE}");
  check_kind("run.json", "{\"traceEvents\": [", "a trace of the PyTorch profiler");
  check_kind("run.json", "{\"traceEvents\": [", "an input");  // anything
  check_kind("own.txt", "text", "a scenario");
}

class FormatTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) { return folder_.write(name, text); }
  testing::TemporaryFolder folder_;
};

TEST_F(FormatTest, OfAFile) {
  const std::vector<std::string> formats{"nvidia-smi", "nccl-xml"};
  EXPECT_EQ(format_of(file("m.txt", "\tGPU0\tCPU Affinity\n"), formats, "a node"), "nvidia-smi");
  EXPECT_EQ(format_of(file("m.xml", "<system version=\"1\">"), formats, "a node"), "nccl-xml");
  auto other = file("t.json", "{\"traceEvents\": [");
  EXPECT_EQ(testing::brief_error([&] { format_of(other, formats, "a node"); }),
            other + ": is a trace of the PyTorch profiler, not a node; ddpsim trace import " + other +
                " --out trace.csv");
  auto unknown = file("u.txt", "hello");
  EXPECT_EQ(testing::brief_error([&] { format_of(unknown, formats, "a node"); }),
            unknown + ": is not recognised as a node; say which: --format nvidia-smi, nccl-xml");
  EXPECT_THROW(format_of("/dev/null", formats, "a node"), InputError);
  EXPECT_THROW(format_of(folder_.path(""), formats, "a node"), InputError);
}

}  // namespace
}  // namespace ddpsim
