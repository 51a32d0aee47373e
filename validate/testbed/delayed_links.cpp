#include "validate/testbed/delayed_links.hpp"

#include "validate/testbed/network_tools.hpp"
#include "validate/testbed/tun_device.hpp"
#include <fmt/core.h>

#include "sim/base/quantity.hpp"

namespace ddpsim::validate {

DelayedLinks::DelayedLinks(int ranks, BytesPerSecond rate, Seconds delay) : RankNamespaces(ranks) {
  std::vector<Descriptor> devices(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    namespaces()[static_cast<std::size_t>(rank)].inside([&] {
      devices[static_cast<std::size_t>(rank)] = make_tun(interface());
      // So many packets may wait for the forwarder; more are dropped.
      run_ip("link set eth0 txqueuelen 10000\n");
      configure_interface(rank);
    });
  forwarder_.emplace(std::move(devices), rate, delay);
  if (!forwarder_->is_real_time()) refused("SCHED_FIFO");
  set_links(fmt::format("network namespaces, forwarded in user space, {}, delay {}", format_bit_rate(rate),
                        format_seconds(delay)));
}

}  // namespace ddpsim::validate
