#include "validate/testbed/rank_namespaces.hpp"

#include <algorithm>

#include "validate/testbed/network_tools.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {

RankNamespaces::RankNamespaces(int ranks) : namespaces_(static_cast<std::size_t>(ranks)) {
  for (const auto& rank : namespaces_)
    rank.inside([&] {
      for (const auto& setting : configure_tcp()) refused(setting);
      congestion_control_ = read_setting("ipv4/tcp_congestion_control");
    });
}

bool RankNamespaces::enter(int rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < namespaces_.size() &&
         namespaces_[static_cast<std::size_t>(rank)].enter();
}

std::string RankNamespaces::address(int rank) const {
  DDPSIM_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < namespaces_.size(),
               "one of the testbed's ranks");
  return fmt::format("10.77.0.{}", rank + 1);
}

std::string RankNamespaces::describe() const {
  auto text = fmt::format("{}, TCP {}, segmentation units of {:.0f} bytes", links_, congestion_control_,
                          kSegmentationLimit.value());
  if (!refused_.empty()) text += fmt::format(", refused by the kernel: {}", fmt::join(refused_, " "));
  return text;
}

void RankNamespaces::configure_interface(int rank) {
  run_ip(
      fmt::format("link set lo up\n"
                  "addr add {}/24 dev eth0\n",
                  address(rank)));
  try {
    run_ip(fmt::format("link set eth0 gso_max_size {:.0f}\n", kSegmentationLimit.value()));
  } catch (const RunFailed&) {
    refused("gso_max_size");
  }
  run_ip("link set eth0 up\n");
}

void RankNamespaces::refused(const std::string& what) {
  if (std::find(refused_.begin(), refused_.end(), what) == refused_.end()) refused_.push_back(what);
}

std::string format_bit_rate(BytesPerSecond rate) {
  double bits = rate.value() * 8;
  return bits < 1e9 ? fmt::format("{:.4g} Mbit/s", bits / 1e6) : fmt::format("{:.4g} Gbit/s", bits / 1e9);
}

}  // namespace ddpsim::validate
