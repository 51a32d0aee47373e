#pragma once
// Mixed precision as torch.autocast does it.
#include <c10/core/DeviceType.h>

namespace ddpsim {

// While one lives, matrix products run in bfloat16 on that device, on casts of float32 parameters.
class Bfloat16Autocast {
 public:
  explicit Bfloat16Autocast(c10::DeviceType device);
  ~Bfloat16Autocast();
  Bfloat16Autocast(const Bfloat16Autocast&) = delete;
  Bfloat16Autocast& operator=(const Bfloat16Autocast&) = delete;

 private:
  c10::DeviceType device_;
};

}  // namespace ddpsim
