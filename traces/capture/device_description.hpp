#pragma once
// The machine a trace was captured on, for its header.
#include <string>
#include <vector>

namespace ddpsim {

struct DeviceDescription {
  std::string name;                // "NVIDIA H100 80GB HBM3"
  std::vector<std::string> notes;  // free lines of the header: driver, clocks, threads, BLAS
};

// The processor, LibTorch's threads on it, and the BLAS that multiplies its matrices.
DeviceDescription describe_host();

// Nothing, or what the user should know about the BLAS found.
std::string blas_remark();

}  // namespace ddpsim
