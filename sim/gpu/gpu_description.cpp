#include "sim/gpu/gpu_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"

namespace ddpsim {

FlopsPerSecond peak_of(const GpuDescription& gpu, DType dtype) {
  auto peak = gpu.peak.find(dtype);
  if (peak != gpu.peak.end()) return peak->second;
  std::vector<std::string_view> known;
  for (const auto& [known_dtype, rate] : gpu.peak) known.push_back(dtype_name(known_dtype));
  throw InputError(fmt::format("{} has no peak for {}", gpu.name, dtype_name(dtype)),
                   fmt::format("its file has one for {}", fmt::join(known, ", ")));
}

}  // namespace ddpsim
