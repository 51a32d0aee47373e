#pragma once
// Traces of the PyTorch profiler for tests, event by event. Times are in us, as in the file.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/trace/import/importer.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {

class ProfilerTrace {
 public:
  // `args` are the inside of an object: R"("stream": 7)".
  ProfilerTrace& event(const std::string& category, const std::string& name, double start, double duration,
                       int thread, const std::string& args = "") {
    events_.push_back(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        category, name, thread, start, duration, args));
    return *this;
  }

  ProfilerTrace& annotation(const std::string& name, double start, double end) {
    return event("user_annotation", name, start, end - start, 1);
  }
  ProfilerTrace& forward_operator(double start) {
    return event("cpu_op", "aten::mm", start, 1, 1, R"("Sequence number": 5)");
  }
  // A node of the autograd graph, evaluated on the backward thread.
  ProfilerTrace& node(double start, double end, const std::string& name = "MmBackward0") {
    return event("cpu_op", "autograd::engine::evaluate_function: " + name, start, end - start, 2);
  }
  // A gradient: AccumulateGrad within its node, which ends with the hooks.
  ProfilerTrace& gradient(double start, double end, double hooks_end, const std::string& args = "") {
    node(start, hooks_end, "torch::autograd::AccumulateGrad");
    return event("cpu_op", "torch::autograd::AccumulateGrad", start, end - start, 2, args);
  }
  // A kernel on the compute stream and its launch.
  ProfilerTrace& kernel(double launch, double start, double end, int thread = 2) {
    launched("cudaLaunchKernel", launch, thread);
    return gpu("kernel", "gemm", start, end, 7, "");
  }
  // copy_bucket_to_grad of that many bytes.
  ProfilerTrace& copy_to_gradient(double start, std::int64_t bytes) {
    event("cpu_op", "torch.distributed.ddp.reducer::copy_bucket_to_grad", start, 2, 2);
    launched("cudaMemcpyAsync", start + 1, 2);
    return gpu("gpu_memcpy", "Memcpy DtoD", start + 1, start + 1.5, 7,
               fmt::format(R"(, "bytes": {})", bytes));
  }
  ProfilerTrace& all_reduce(double launch, double start, double end, std::int64_t elements,
                            const std::string& dtype = "Float") {
    return collective("AllReduce_RING_LL_Sum_float", "allreduce", launch, start, end, elements, dtype);
  }
  ProfilerTrace& collective(const std::string& kernel_name, const std::string& name, double launch,
                            double start, double end, std::int64_t elements,
                            const std::string& dtype = "Float") {
    launched("cudaLaunchKernelExC", launch, 2);
    return gpu(
        "kernel", "ncclKernel_" + kernel_name + "(ncclDevComm*)", start, end, 40,
        fmt::format(R"(, "Collective name": "{}", "In msg nelems": {}, "dtype": "{}", "Group size": 4)", name,
                    elements, dtype));
  }

  ProfilerTrace& launched(const std::string& call, double at, int thread) {
    return event("cuda_runtime", call, at, 0.5, thread, fmt::format(R"("correlation": {})", ++correlation_));
  }
  // Belongs to the last launch.
  ProfilerTrace& gpu(const std::string& category, const std::string& name, double start, double end,
                     int stream, const std::string& more_args) {
    return event(
        category, name, start, end - start, stream,
        fmt::format(R"("device": 0, "stream": {}, "correlation": {}{})", stream, correlation_, more_args));
  }

  [[nodiscard]] std::string array() const { return fmt::format("[{}]", fmt::join(events_, ",\n")); }
  [[nodiscard]] std::string text() const {
    return fmt::format(
        R"({{"deviceProperties": [{{"id": 0, "name": "NVIDIA X"}}], "distributedInfo": {{"world_size": 4, "nccl_version": "2.21.5"}},
"traceEvents": {}}})",
        array());
  }

  [[nodiscard]] ImportedTrace imported(std::optional<std::string> statistic = std::nullopt) const {
    return import_text(text(), statistic);
  }
  static ImportedTrace import_text(const std::string& text,
                                   std::optional<std::string> statistic = std::nullopt) {
    TemporaryFolder folder;
    ImportRequest request;
    request.inputs = {folder.write("trace.json", text)};
    request.statistic = std::move(statistic);
    return import_trace(find_importer("pytorch-profiler"), request);
  }
  // The whole error that importing it gives, without the folder.
  [[nodiscard]] std::string error() const;

 private:
  std::vector<std::string> events_;
  int correlation_ = 0;
};

inline std::string ProfilerTrace::error() const {
  TemporaryFolder folder;
  ImportRequest request;
  request.inputs = {folder.write("trace.json", text())};
  try {
    import_trace(find_importer("pytorch-profiler"), request);
  } catch (const InputError& error) {
    return folder.without_folder(error.what());
  }
  return "no error";
}

// A gradient's args with record_shapes=True.
inline std::string shaped(const std::string& dims, const std::string& type = "float") {
  return fmt::format(R"("Input Dims": [{}], "Input type": ["{}"])", dims, type);
}

}  // namespace ddpsim::testing
