#include "sim/text/nccl_platform_section.hpp"

#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/named_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::platform_keys {
namespace {

using namespace keys;

struct Given : NcclPlatform {
  std::optional<nccl::Version> given_version = {};
  std::optional<BytesPerSecond> memory_bandwidth = {};  // of older files: nothing follows from it any more
};

Section rows() {
  using P = NcclPlatform;
  return Rows<Given>("nccl")
      .needs<&P::gpu>("gpu", word(nccl::kGpuNames), "Whose constants the tuner uses")
      .needs<&P::cpu>("cpu", word(nccl::kCpuNames), "Whose constants the tuner uses")
      .key<&Given::given_version>("version", maybe(job::nccl_version()), "Whose constants choose")
      .key<&Given::memory_bandwidth>("memory_bandwidth", maybe(bandwidth()), "Of older files")
      .key<&P::tuner_nic_latency>("tuner_nic_latency", time(), "What NCCL's network plugin reports")
      .key<&P::nic_latency>("nic_latency", time(), "What a message between two nodes takes")
      .key<&P::network_reduces>("network_reduces", boolean(), "Switches add up and multicast")
      .key<&P::calibration>("calibration", maybe(text()), "A name or a file");
}

}  // namespace
}  // namespace ddpsim::platform_keys

namespace ddpsim {

keys::Section file_rows::nccl_platform() {
  return platform_keys::rows();
}

NcclPlatform read_nccl_platform(const config::Value& value, const std::string& file) {
  static const auto rows = platform_keys::rows();
  auto platform = keys::read_root<platform_keys::Given>(rows, value);
  auto version = platform.given_version;
  platform.says_version = version.has_value();
  if (platform.calibration) {
    Located named{*platform.calibration, value.find("calibration")->value.span};
    auto preset = preset_file(PresetKind::calibrations, named);
    platform.calibration = preset ? *preset : named_file(named, file);
    if (!version) version = release_of(read_calibration(*platform.calibration));
  }
  platform.version = version.value_or(platform.version);
  return platform;
}

}  // namespace ddpsim
