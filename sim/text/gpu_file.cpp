#include "sim/text/gpu_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

enum class GpuKind { gpu };

const config::Words<std::string> kArchitectures{{"volta", "volta"},   {"turing", "turing"},
                                                {"ampere", "ampere"}, {"ada", "ada"},
                                                {"hopper", "hopper"}, {"blackwell", "blackwell"}};

std::map<Precision, FlopsPerSecond> read_peaks(const Value& value) {
  MapReader reader(value, "peak");
  std::map<Precision, FlopsPerSecond> peaks{
      {Precision::float32, reader.required("float32", config::as_flops_rate)}};
  for (const auto& [name, precision] : kPrecisionNames)
    if (precision != Precision::float32)
      if (auto peak = reader.optional(name, config::as_flops_rate)) peaks.emplace(precision, *peak);
  reader.finish();
  return peaks;
}

double as_share(const Value& value) {
  auto share = config::as_number(0, 1)(value);
  if (share == 0)
    throw InputError(value.span, "a share of zero never ends", "write a number above 0, up to 1");
  return share;
}

Range as_range(const Value& value) {
  auto ends = config::as_list(config::as_number(0, kLargestInterference))(value);
  if (ends.size() != 2)
    throw InputError(value.span, fmt::format("a range has two ends, not {}", ends.size()),
                     "write it like [0.1, 0.65]; a number that is known is [0.26, 0.26]");
  if (ends[0] > ends[1])
    throw InputError(value.span, fmt::format("the range's {} is above its {}", ends[0], ends[1]),
                     "swap them");
  return {ends[0], ends[1]};
}

void read_copy(const Value& value, GpuDescription& gpu) {
  MapReader reader(value, "copy");
  gpu.copy_efficiency = reader.optional("efficiency", as_share).value_or(gpu.copy_efficiency);
  gpu.copy_launch = reader.optional("launch", config::as_seconds).value_or(gpu.copy_launch);
  reader.finish();
}

void read_interference(const Value& value, GpuDescription& gpu) {
  MapReader reader(value, "interference");
  gpu.compute_slowdown = reader.optional("compute", as_range).value_or(gpu.compute_slowdown);
  gpu.collective_slowdown = reader.optional("collective", as_range).value_or(gpu.collective_slowdown);
  reader.finish();
}

Bytes as_memory(const Value& value) {
  auto memory = config::as_bytes(value);
  if (memory == Bytes()) throw InputError(value.span, "a GPU without memory", "write it like 80GB");
  return memory;
}

}  // namespace

GpuDescription read_gpu(const std::string& path) {
  Value root = config::load_yaml(path, "a GPU");
  MapReader reader(root, "gpu");
  reader.required("kind", config::as_word(config::Words<GpuKind>{{"gpu", GpuKind::gpu}}));
  GpuDescription gpu;
  gpu.name = reader.required("name", config::as_string);
  gpu.architecture = reader.optional("architecture", config::as_word(kArchitectures)).value_or("");
  gpu.multiprocessors =
      static_cast<int>(reader.required("multiprocessors", config::as_integer(1, kMostMultiprocessors)));
  gpu.memory = reader.required("memory", as_memory);
  gpu.memory_bandwidth = reader.required("memory_bandwidth", config::as_bandwidth);
  gpu.peak = reader.required("peak", read_peaks);
  if (const Value* copy = reader.find("copy")) read_copy(*copy, gpu);
  if (const Value* interference = reader.find("interference")) read_interference(*interference, gpu);
  reader.finish();
  return gpu;
}

}  // namespace ddpsim
