#include "sim/gpu/gpu_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"

namespace ddpsim {

FlopsPerSecond peak_of(const GpuDescription& gpu, Precision precision) {
  auto peak = gpu.peak.find(precision);
  if (peak != gpu.peak.end()) return peak->second;
  std::vector<std::string_view> known;
  for (const auto& [one, rate] : gpu.peak) known.push_back(name_in(kPrecisionNames, one));
  throw InputError(fmt::format("{} has no peak for {}", gpu.name, name_in(kPrecisionNames, precision)),
                   fmt::format("its file has one for {}", fmt::join(known, ", ")));
}

}  // namespace ddpsim
