#include "sim/text/nccl_platform_section.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "sim/config/reader.hpp"
#include "sim/text/named_file.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

// "2.26.2" -> {2, 26, 2}; a missing part is as new as can be. Nullopt for anything else.
std::optional<std::array<int, 3>> parts_of(std::string_view text) {
  std::array<int, 3> parts{0, 999, 999};
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto [next, error] = std::from_chars(at, end, parts.at(i));
    if (error != std::errc() || parts.at(i) < 0) return std::nullopt;
    if (next == end) return i == 0 ? std::nullopt : std::optional(parts);
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

// NVIDIA's data sheets of the V100 32 GB SXM2, A100 80 GB SXM, L40S, H100 SXM and B200.
BytesPerSecond usual_memory_bandwidth(nccl::Gpu gpu) {
  switch (gpu) {
    case nccl::Gpu::volta:
      return BytesPerSecond(900e9);
    case nccl::Gpu::ampere:
      return BytesPerSecond(2039e9);
    case nccl::Gpu::ada:
      return BytesPerSecond(864e9);
    case nccl::Gpu::hopper:
      return BytesPerSecond(3350e9);
    case nccl::Gpu::blackwell:
      return BytesPerSecond(8000e9);
  }
  return {};
}

}  // namespace

nccl::Version as_nccl_version(const Value& value) {
  auto text = config::as_string(value);
  auto parts = parts_of(text);
  if (!parts || parts->front() != 2)
    throw InputError(value.span, fmt::format("'{}' is no version of NCCL", text),
                     "write version: \"2.27.6\"");
  std::optional<nccl::Version> known;
  auto minor = [](const std::array<int, 3>& version) { return std::pair(version[0], version[1]); };
  for (auto version : {nccl::Version::v2_21_5, nccl::Version::v2_27_6, nccl::Version::v2_30_7})
    if (minor(*parts) >= minor(*parts_of(nccl::name(version)))) known = version;
  if (!known)
    throw InputError(value.span, fmt::format("the constants of NCCL {} are not known", text),
                     "the oldest known are those of 2.21.5");
  return *known;
}

NcclPlatform read_nccl_platform(const Value& value, const std::string& file) {
  MapReader reader(value, "nccl");
  NcclPlatform platform;
  for (const char* key : {"gpu", "cpu"}) reader.find(key);  // known, before one is missed
  platform.gpu = reader.required("gpu", config::as_word(config::words_of(nccl::kGpuNames)));
  platform.cpu = reader.required("cpu", config::as_word(config::words_of(nccl::kCpuNames)));
  platform.version = reader.optional("version", as_nccl_version).value_or(platform.version);
  platform.memory_bandwidth = reader.optional("memory_bandwidth", config::as_bandwidth)
                                  .value_or(usual_memory_bandwidth(platform.gpu));
  platform.nic_latency = reader.optional("nic_latency", config::as_seconds).value_or(Seconds(0));
  if (const Value* path = reader.find("calibration")) platform.calibration = named_file(*path, file);
  reader.finish();
  try {
    check_version(platform);
  } catch (const InputError& error) {
    throw error.at(value.span);
  }
  return platform;
}

}  // namespace ddpsim
