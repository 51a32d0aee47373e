#include "validate/testbed/shaped_links.hpp"

#include <cmath>

#include "validate/testbed/network_tools.hpp"
#include <fmt/core.h>

namespace ddpsim::validate {
namespace {

// Far above all that the sockets of a rank may have on the way: the bucket never drops.
constexpr int kQueueLimit = 64 << 20;

}  // namespace

Bytes token_bucket_burst(BytesPerSecond rate) {
  auto unit = kSegmentationLimit * (1514.0 / 1448.0);
  return Bytes(std::ceil((unit + rate * Seconds(100e-6)).value()));
}

ShapedLinks::ShapedLinks(int ranks, BytesPerSecond rate) : RankNamespaces(ranks) {
  std::string commands =
      "link add br0 type bridge\n"
      "link set br0 up\n";
  for (int rank = 0; rank < ranks; ++rank)
    commands += fmt::format(
        "link add rank{0} type veth peer name eth0 netns {1}\n"
        "link set rank{0} master br0 up\n",
        rank, namespaces()[static_cast<std::size_t>(rank)].path());
  bridge_.inside([&] {
    write_setting("ipv6/conf/default/disable_ipv6", "1");
    run_ip(commands);
  });

  auto burst = token_bucket_burst(rate);
  auto bucket = fmt::format("qdisc add dev eth0 root tbf rate {:.0f}bit burst {:.0f} limit {}\n",
                            rate.value() * 8, burst.value(), kQueueLimit);
  for (int rank = 0; rank < ranks; ++rank)
    namespaces()[static_cast<std::size_t>(rank)].inside([&] {
      run_tc(bucket);
      configure_interface(rank);
    });
  set_links(
      fmt::format("network namespaces, tbf {}, burst {:.4g} kB", format_bit_rate(rate), burst.value() / 1e3));
}

}  // namespace ddpsim::validate
