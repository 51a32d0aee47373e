#pragma once
// Releases of NCCL.
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace ddpsim::nccl {

struct Version {
  int major = 2, minor = 0, patch = 0;

  auto operator<=>(const Version&) const = default;
};

// Every release whose sources were read (github.com/NVIDIA/nccl, tags v2.18.1-1 to v2.30.7-1), oldest first.
inline constexpr std::array<Version, 31> kReleases{
    {{2, 18, 1}, {2, 18, 3}, {2, 18, 5}, {2, 18, 6}, {2, 19, 1}, {2, 19, 3}, {2, 19, 4}, {2, 20, 3},
     {2, 20, 5}, {2, 21, 5}, {2, 22, 3}, {2, 23, 4}, {2, 24, 3}, {2, 25, 1}, {2, 26, 2}, {2, 26, 3},
     {2, 26, 5}, {2, 26, 6}, {2, 27, 3}, {2, 27, 5}, {2, 27, 6}, {2, 27, 7}, {2, 28, 3}, {2, 28, 7},
     {2, 28, 9}, {2, 29, 2}, {2, 29, 3}, {2, 29, 7}, {2, 30, 3}, {2, 30, 4}, {2, 30, 7}}};
inline constexpr Version kOldestVersion = kReleases.front(), kNewestVersion = kReleases.back();
inline constexpr Version kDefaultVersion = kNewestVersion;

std::string name(Version version);  // "2.27.6"
// "2.27.6", or "2.27" for the newest release of that minor version. None for anything else; any release,
// known or not, is a version.
std::optional<Version> parse_version(std::string_view text);

}  // namespace ddpsim::nccl
