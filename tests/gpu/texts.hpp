#pragma once
// GPU files for tests.
#include <string>

#include "sim/gpu/gpu_description.hpp"
#include "sim/text/gpu_file.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {

// Without the keys that have defaults.
inline const std::string kSmallGpu =
    "kind: gpu\n"
    "name: Small\n"
    "multiprocessors: 10\n"
    "memory: 8GB\n"
    "memory_bandwidth: 100GB/s\n"
    "peak: {float32: 1TFLOP/s}\n";

inline GpuDescription gpu_of(const std::string& text) {
  TemporaryFolder folder;
  return read_gpu(folder.write("g.yaml", text));
}

}  // namespace ddpsim::testing
