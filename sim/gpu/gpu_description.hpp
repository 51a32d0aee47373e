#pragma once
// What a GPU can do: a file of gpus/ (docs/reference/gpu-model-software.md, "GPU").
#include <map>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/gpu/precision.hpp"

namespace ddpsim {

// A figure that published measurements leave open.
struct Range {
  double least = 0, most = 0;
  bool operator==(const Range&) const = default;
};

// By how much a kernel and a collective at the same time slow each other down: 0.26 is 26 % longer. Where the
// file says nothing, what published runs with overlapped all-reduces were fitted to, kernel and collective
// alike: a pair joined by NVLink 0.26; an unnamed pair 0.31; links like PCIe and few tokens a GPU 0.55 to
// 0.65; A100s with PCIe and InfiniBand, BERT, about 0.1; A100s with NVLink 0.1 to 0.2. The kind of link and
// the tokens a GPU cannot be told apart in these, so it is a range and no number.
inline constexpr Range kUsualSlowdown{0.1, 0.65};

// Copies of gradients into and out of buckets: the share of the memory bandwidth they reach, fitted to one
// published data set (two H20, a transformer of 2.0e9 parameters in float32), and what launching a kernel
// costs, an assumption.
inline constexpr double kUsualCopyEfficiency = 0.67;
inline constexpr Seconds kUsualCopyLaunch{5e-6};

struct GpuDescription {
  std::string name;
  std::string architecture;                 // "hopper"; empty: the file does not say
  std::vector<std::string> same_chip = {};  // words of other GPUs' names, the likest first: "H100"
  int multiprocessors = 0;
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  std::map<Precision, FlopsPerSecond> peak;  // of matrix products without sparsity; float32 is always there
  bool peer_to_peer = true;                  // its driver lets GPUs read one another's memory over PCIe
  double copy_efficiency = kUsualCopyEfficiency;
  Seconds copy_launch = kUsualCopyLaunch;
  Range compute_slowdown = kUsualSlowdown;     // of a kernel, while a collective runs
  Range collective_slowdown = kUsualSlowdown;  // of a collective, while a kernel runs

  bool operator==(const GpuDescription&) const = default;
};

// Throws InputError where the GPU's file has no peak for it.
FlopsPerSecond peak_of(const GpuDescription& gpu, Precision precision);
inline FlopsPerSecond peak_of(const GpuDescription& gpu, DType dtype) {
  return peak_of(gpu, precision_of(dtype));
}

}  // namespace ddpsim
