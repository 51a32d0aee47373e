#include "traces/torch_gpt2/autocast.hpp"

#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace ddpsim {
namespace {

// One function a kind of device before 2.4, one for all since.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
void set_autocast(c10::DeviceType device, bool enabled) {
  at::autocast::set_autocast_dtype(device, at::kBFloat16);
  at::autocast::set_autocast_enabled(device, enabled);
}
#else
void set_autocast(c10::DeviceType device, bool enabled) {
  if (device == c10::DeviceType::CPU) {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(enabled);
  } else {
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(enabled);
  }
}
#endif

}  // namespace

Bfloat16Autocast::Bfloat16Autocast(c10::DeviceType device) : device_(device) {
  at::autocast::increment_nesting();
  set_autocast(device_, true);
}

Bfloat16Autocast::~Bfloat16Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast(device_, false);
}

}  // namespace ddpsim
