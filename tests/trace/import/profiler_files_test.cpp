// The file around the events: JSON as it is or gzipped, an object or an array, numbers or text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "sim/trace/import/pytorch_profiler/collective_names.hpp"
#include "sim/trace/import/pytorch_profiler/event.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using pytorch_profiler::CollectiveKind;
using testing::ProfilerTrace;
using testing::shaped;

ProfilerTrace small_trace() {
  ProfilerTrace trace;
  trace.forward_operator(1).node(2, 3).gradient(4, 6.5, 8, shaped("[3]"));
  return trace;
}

LayerTrace import_path(const std::string& path) {
  ImportRequest request;
  request.inputs = {path};
  return import_trace(find_importer("pytorch-profiler"), request).trace;
}

TEST(ProfilerFiles, MayBeGzipped) {
  testing::TemporaryFolder folder;
  auto text = small_trace().text();
  auto plain = folder.write("trace.json", text);
  auto* file = gzopen(folder.path("trace.json.gz").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  auto a = import_path(plain), b = import_path(folder.path("trace.json.gz"));
  ASSERT_EQ(a.gradients.size(), 1u);
  EXPECT_EQ(a.gradients[0].ready, Seconds(4.5e-6));
  EXPECT_EQ(a.gradients, b.gradients);
  EXPECT_EQ(a.metadata.notes.front(), "imported from trace.json, a trace of the PyTorch profiler.");
  EXPECT_EQ(b.metadata.notes.front(), "imported from trace.json.gz, a trace of the PyTorch profiler.");
}

TEST(ProfilerFiles, MayBeAnArrayOfEvents) {
  auto imported = ProfilerTrace::import_text(small_trace().array()).trace;
  EXPECT_EQ(imported.gradients.at(0).ready, Seconds(4.5e-6));
  EXPECT_EQ(imported.metadata.device, std::nullopt);
}

// Events of other phases and without fields they need not have, nested args, and keys elsewhere that are
// called like those that count.
TEST(ProfilerFiles, HoldMuchElse) {
  auto events = small_trace().array();
  auto text =
      R"({"args": {"traceEvents": [1]}, "schemaVersion": 1, "ts": "x", "with_flops": null, "baseTimeNanoseconds": 17,
    "traceEvents": [{"ph": "M", "name": "process_name", "args": {"name": "python", "labels": [[["a"]], {"ts": -1}]}},
    {"ph": "s", "id": 1, "cat": "ac2g", "ts": "garbage"}, 7, null, "text", [], [[{"ph": "X"}]],
    {"ph": "X", "cat": "python_function", "ts": 1, "dur": -5}, {"ph": "i", "ts": 1e300},)" +
      events.substr(1) + R"(, "traceName": "t.json"})";
  EXPECT_EQ(ProfilerTrace::import_text(text).trace.gradients, small_trace().imported().trace.gradients);
}

TEST(ProfilerFiles, MayWriteTimesAsText) {
  auto text = small_trace().text();
  for (std::string name : {"ts", "dur"})
    for (auto at = text.find("\"" + name + "\": "); at != std::string::npos;
         at = text.find("\"" + name + "\": ", at)) {
      at += name.size() + 4;
      text.insert(at, "\"");
      text.insert(text.find_first_of(",}", at), "\"");
    }
  EXPECT_EQ(ProfilerTrace::import_text(text).trace.gradients, small_trace().imported().trace.gradients);
}

// What PyTorch 1.8 to 1.10 called the categories.
TEST(ProfilerFiles, OfOldVersionsNameCategoriesOtherwise) {
  ProfilerTrace trace;
  trace.event("Operator", "autograd::engine::evaluate_function: MmBackward0", 10, 5, 2);
  trace.event("Operator", "torch::autograd::AccumulateGrad", 20, 1, 2, shaped("[3]"));
  trace.event("Operator", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 19, 5, 2);
  trace.event("Runtime", "cudaLaunchKernel", 12, 1, 2, R"("correlation": 5)");
  trace.event("Kernel", "gemm", 13, 30, 7, R"("correlation": 5, "device": 0, "stream": 7)");
  EXPECT_EQ(trace.imported().trace.gradients.at(0).ready, Seconds(33e-6));
}

TEST(ProfilerFiles, TellHowFarTheyWereRead) {
  testing::TemporaryFolder folder;
  ImportRequest request;
  request.inputs = {folder.write("trace.json", small_trace().text() + std::string(3 << 20, ' '))};
  std::vector<double> shares;
  request.progress = [&shares](double share) { shares.push_back(share); };
  import_trace(find_importer("pytorch-profiler"), request);
  ASSERT_GT(shares.size(), 4u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
  EXPECT_LT(shares.front(), 0.5);
}

TEST(ProfilerFiles, WhatIsImportedCanBeWrittenAndRead) {
  auto trace = small_trace().imported().trace;
  auto text = write_trace(trace);
  EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
}

TEST(ProfilerFiles, NamesFromTheFileBecomeOneLine) {
  auto text = small_trace().text();
  auto with_kernel =
      text.substr(0, text.rfind(']')) +
      R"(, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
                          "args": {"correlation": 1}},
                         {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 3, "dur": 1,
                          "args": {"correlation": 1}}]})";
  for (auto [written, device] :
       {std::pair<std::string, std::optional<std::string>>{R"( A100\n80GB\u0000 )", "A100 80GB"},
        {R"( \t)", std::nullopt}}) {
    auto changed = with_kernel;
    changed.replace(changed.find("NVIDIA X"), 8, written);
    auto trace = ProfilerTrace::import_text(changed).trace;
    EXPECT_EQ(trace.metadata.device, device);
    EXPECT_NE(write_trace(trace), "");
  }
}

TEST(ProfilerFiles, TheUsersWordsComeFirst) {
  testing::TemporaryFolder folder;
  ImportRequest request;
  request.inputs = {folder.write("trace.json", small_trace().text())};
  request.metadata.device = "A100 in the corner";
  request.metadata.model = "resnet50";
  auto metadata = import_trace(find_importer("pytorch-profiler"), request).trace.metadata;
  EXPECT_EQ(metadata.device, "A100 in the corner");
  EXPECT_EQ(metadata.model, "resnet50");
}

TEST(ProfilerMicroseconds, AreReadToTheNanosecond) {
  using pytorch_profiler::parse_microseconds;
  using pytorch_profiler::Time;
  const std::vector<std::pair<std::string, std::int64_t>> times{
      {"0", 0},
      {"12", 12000},
      {"4458676416788.066", 4458676416788066},
      {"0.0004", 0},
      {"0.0005", 1},
      {"0.9996", 1000},
      {"-0.5", -500},
      {"1e3", 1000000},
      {"1.5E-1", 150},
      {"1711964646000000.123", 1711964646000000123}};
  for (const auto& [text, nanoseconds] : times)
    EXPECT_EQ(parse_microseconds(text), Time(nanoseconds)) << text;
  EXPECT_EQ(parse_microseconds("1.711964646000001e15"), Time(1711964646000001000));
  for (const auto* text :
       {"", "x", "1x", "1.x", ".5", "1e400", "nan", "inf", "-inf", "3000000000000001", "-3000000000000001",
        "99999999999999999999", "-9223372036854775808", "1e16", "0x10", " 1", "+1"})
    EXPECT_EQ(parse_microseconds(text), std::nullopt) << text;
}

TEST(ProfilerNames, OfCollectives) {
  using pytorch_profiler::collective_of_call;
  using pytorch_profiler::collective_of_kernel;
  for (const auto* name : {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"})
    EXPECT_EQ(collective_of_kernel(name), CollectiveKind::all_reduce) << name;
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)"),
            CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective_of_kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)"), CollectiveKind::all_gather);
  EXPECT_EQ(collective_of_kernel("ncclAllReduceRingLLKernel_sum_f32(ncclColl)"), CollectiveKind::all_reduce);
  EXPECT_EQ(collective_of_kernel("ncclBroadcastRingLLKernel_copy_i8(ncclColl)"), CollectiveKind::broadcast);
  EXPECT_EQ(collective_of_kernel("ncclSymDevKernel_AllReduce_RSxLD_AGxST(x)"), CollectiveKind::all_reduce);
  EXPECT_EQ(collective_of_kernel("ncclSymkDevKernel_ReduceScatter_LD(x)"), CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_Generic(AllReduce)"), CollectiveKind::other);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_SendRecv(x)"), CollectiveKind::other);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_Generic(x)"), CollectiveKind::other);
  EXPECT_EQ(collective_of_kernel("void at::native::AllReduce()"), std::nullopt);
  EXPECT_EQ(collective_of_kernel("void my::ncclKernel_AllReduce()"), std::nullopt);
  EXPECT_EQ(collective_of_kernel("nccl_copy"), std::nullopt);
  for (const auto* name : {"allreduce", "all_reduce", "_allreduce_base", "allreduce_coalesced",
                           "nccl:all_reduce", "c10d::allreduce_", "ALLREDUCE"})
    EXPECT_EQ(collective_of_call(name), CollectiveKind::all_reduce) << name;
  EXPECT_EQ(collective_of_call("_reduce_scatter_base"), CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective_of_call("nccl:_all_gather_base"), CollectiveKind::all_gather);
  EXPECT_EQ(collective_of_call("broadcast"), CollectiveKind::broadcast);
  EXPECT_EQ(collective_of_call("wait"), std::nullopt);
}

}  // namespace
}  // namespace ddpsim
