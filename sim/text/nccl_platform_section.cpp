#include "sim/text/nccl_platform_section.hpp"

#include <fmt/core.h>

#include "sim/config/reader.hpp"
#include "sim/job/version_types.hpp"
#include "sim/text/named_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

}  // namespace

NcclPlatform read_nccl_platform(const Value& value, const std::string& file) {
  MapReader reader(value, "nccl");
  NcclPlatform platform;
  for (const char* key : {"gpu", "cpu"}) reader.find(key);  // known, before one is missed
  platform.gpu = reader.required("gpu", config::as_word(config::words_of(nccl::kGpuNames)));
  platform.cpu = reader.required("cpu", config::as_word(config::words_of(nccl::kCpuNames)));
  auto version = reader.optional("version", job::as_nccl_version);
  platform.says_version = version.has_value();
  reader.optional("memory_bandwidth",
                  config::as_bandwidth);  // of older files: nothing follows from it any more
  platform.tuner_nic_latency = reader.optional("tuner_nic_latency", config::as_seconds).value_or(Seconds(0));
  platform.nic_latency = reader.optional("nic_latency", config::as_seconds).value_or(platform.nic_latency);
  platform.network_reduces = reader.optional("network_reduces", config::as_bool).value_or(false);
  if (const Value* path = reader.find("calibration")) {
    Located named{config::as_string(*path), path->span};
    auto preset = preset_file(PresetKind::calibrations, named);
    platform.calibration = preset ? *preset : named_file(named, file);
    if (!version) version = release_of(read_calibration(*platform.calibration));
  }
  platform.version = version.value_or(platform.version);
  reader.finish();
  return platform;
}

}  // namespace ddpsim
