#include "traces/capture/cuda_device.hpp"
#include <fmt/core.h>
#include <torch/version.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"

namespace ddpsim {

void require_cuda() {
  throw BackendMissing(fmt::format(
      "--device cuda needs a LibTorch with CUDA; this ddpsim was built with LibTorch {}, without\n"
      "hint: 'DDPSIM_PYTHON=python3 scripts/run capture ...' builds it with the PyTorch installed for that "
      "python3",
      TORCH_VERSION));
}

DeviceDescription describe_cuda() {
  throw InternalError("there is no CUDA to describe");
}

std::unique_ptr<EventClock> make_cuda_clock(std::size_t /*n_events*/) {
  throw InternalError("there is no CUDA to take times");
}

}  // namespace ddpsim
