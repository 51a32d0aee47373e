#include "sim/nccl/constants.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/nccl/releases.hpp"

namespace ddpsim::nccl {
namespace {

// A release treats generations that it does not know as the newest that it does.
Constants with_later(Constants c) {
  auto newest = static_cast<std::size_t>(c.newest);
  for (auto later = newest + 1; later < kGenerations; ++later) {
    for (auto* table : {&c.ll_max, &c.ring_ll128_max, &c.tree_ll128_max, &c.tree_max})
      table->at(later) = table->at(newest);
    c.speeds.at(later) = c.speeds.at(newest);
    c.nvlink.at(later) = c.nvlink.at(newest);
  }
  return c;
}

const std::vector<std::pair<Version, Constants>>& all_constants() {
  static const auto all = [] {
    auto now = oldest_constants();
    std::vector<std::pair<Version, Constants>> releases_so_far{{kOldestVersion, with_later(now)}};
    for (const auto& release : releases()) {
      release.change(now);
      releases_so_far.emplace_back(release.version, with_later(now));
    }
    return releases_so_far;
  }();
  return all;
}

std::size_t row(Gpu gpu) {
  return static_cast<std::size_t>(generation_of(gpu));
}

}  // namespace

const Constants& constants(Version version) {
  const auto& all = all_constants();
  auto newer = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.first > version; });
  DDPSIM_CHECK(newer != all.begin(), "a release whose constants are known");
  return std::prev(newer)->second;
}

Version first_with(Generation generation) {
  const auto& all = all_constants();
  auto first = std::ranges::find_if(all, [&](const auto& one) { return one.second.newest >= generation; });
  DDPSIM_CHECK(first != all.end(), "a generation that some release knows");
  return first->first;
}

double tree_correction(const Constants& constants, Protocol protocol, Bytes bytes) {
  // By powers of two from 64 B on; 1 beyond the last.
  static constexpr std::array<std::array<double, 24>, kProtocols> kShares = {{
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
  }};
  auto sixtyfours = static_cast<std::uint64_t>(std::min(bytes.value(), 9e15)) >> 6;
  auto power = sixtyfours == 0 ? 0 : static_cast<int>(std::bit_width(sixtyfours)) - 1;
  const auto& shares = kShares.at(static_cast<std::size_t>(protocol));
  return power < constants.tree_corrections ? shares.at(static_cast<std::size_t>(power)) : 1;
}

std::span<const double> channel_speeds(Version version, Gpu gpu, bool across_nodes) {
  return constants(version).speeds.at(row(gpu)).at(across_nodes ? 1 : 0);
}

double nvlink_share(Version version, Gpu gpu) {
  return constants(version).nvlink.at(row(gpu)) / traits_of(gpu).nvlink;
}

// tuning.cc: minCompCap 70, 80 and 90, since 2.25.1 also 100 and 120, since 2.27.3 any from 70 on.
bool has_ll128(Version version, Gpu gpu) {
  const auto& known = constants(version);
  return known.ll128_on_any_gpu || (generation_of(gpu) <= known.newest && gpu != Gpu::ada);
}

}  // namespace ddpsim::nccl
