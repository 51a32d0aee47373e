#pragma once
#include "sim/base/units.hpp"

namespace ddpsim {

// What a machine's host does for the GPUs in it.
struct Host {
  BytesPerSecond copy_bandwidth;  // between it and each GPU, one way, all GPUs copying at once
  double adam_rate = 0;           // parameters a second that Adam steps on it, for all of its ranks together
  int ranks = 1;
  [[nodiscard]] Seconds copy(Bytes bytes) const { return bytes / copy_bandwidth; }
  // While all of its ranks step as many.
  [[nodiscard]] Seconds adam(double parameters) const { return Seconds(ranks * parameters / adam_rate); }
  bool operator==(const Host&) const = default;
};

// Adam with AVX512 and a thread a core of a DGX-2 (two Xeon Platinum 8168), 1e10 parameters in 2.57 s:
// DeepSpeed's CPU-Adam in Ren et al., "ZeRO-Offload", arXiv 2101.06840, table 4.
inline constexpr double kUsualAdamRate = 1e10 / 2.57;

}  // namespace ddpsim
