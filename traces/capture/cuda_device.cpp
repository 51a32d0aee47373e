// The only file of capture that uses CUDA.
#include "traces/capture/cuda_device.hpp"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/one_line.hpp"
#include "sim/process/external_program.hpp"

namespace ddpsim {
namespace {

class CudaClock : public EventClock {
 public:
  explicit CudaClock(std::size_t n_events) {
    for (std::size_t i = 0; i < n_events; ++i) events_.emplace_back(cudaEventDefault);
  }
  void mark(std::size_t event) override { events_[event].record(at::cuda::getCurrentCUDAStream()); }
  std::vector<Seconds> times() override {
    for (auto& event : events_) event.synchronize();
    std::vector<Seconds> times;
    for (auto& event : events_)
      times.emplace_back(1e-3 * static_cast<double>(events_.front().elapsed_time(event)));  // ms
    return times;
  }

 private:
  std::vector<at::cuda::CUDAEvent> events_;
};

std::string ask_nvidia_smi() {
  char bus[32] = {};
  C10_CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, at::cuda::current_device()));
  const std::string fields =
      "driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,temperature.gpu";
  // Some driver faults leave nvidia-smi hanging.
  const ExternalProgram nvidia_smi{
      "timeout",
      {"10", "nvidia-smi", fmt::format("--id={}", bus), "--query-gpu=" + fields, "--format=csv,noheader"},
      "nvidia-smi is watched",
      "coreutils"};
  auto answer = run_program(nvidia_smi, "");
  // Warnings may follow the one row asked for.
  return fmt::format("nvidia-smi while training ({}) {}", fields,
                     one_line(answer.substr(0, answer.find('\n'))));
}

std::string version(int number) {  // 13020
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

int runtime_version() {
  int number = 0;
  cudaRuntimeGetVersion(&number);
  return number;
}

int driver_version() {
  int number = 0;
  cudaDriverGetVersion(&number);
  return number;
}

}  // namespace

void require_cuda() {
  int count = 0;
  auto error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return;
  throw BackendMissing(
      fmt::format("no CUDA GPU was found: cudaGetDeviceCount says '{}'\n"
                  "hint: 'nvidia-smi' should list a GPU, with a driver new enough for CUDA {}.{}; --device "
                  "cpu needs none",
                  error == cudaSuccess ? "0 devices" : cudaGetErrorString(error), CUDART_VERSION / 1000,
                  CUDART_VERSION % 1000 / 10));
}

DeviceDescription describe_cuda() {
  DeviceDescription description{one_line(at::cuda::getCurrentDeviceProperties()->name), {}};
  description.notes.push_back(fmt::format("CUDA runtime {}, driver for {}; float32 products {} TF32",
                                          version(runtime_version()), version(driver_version()),
                                          at::globalContext().allowTF32CuBLAS() ? "in" : "without"));
  try {
    description.notes.push_back(ask_nvidia_smi());
  } catch (const std::exception&) {
    description.notes.emplace_back("driver and clocks were not recorded, nvidia-smi did not tell");
  }
  return description;
}

std::unique_ptr<EventClock> make_cuda_clock(std::size_t n_events) {
  return std::make_unique<CudaClock>(n_events);
}

}  // namespace ddpsim
