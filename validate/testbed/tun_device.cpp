#include "validate/testbed/tun_device.hpp"

#include <cerrno>
#include <cstring>

#include "validate/testbed/packet.hpp"
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

Descriptor open_tun() {
  return Descriptor(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace

void require_tun() {
  if (!open_tun())
    throw BackendMissing(
        fmt::format("a testbed with a delay needs /dev/net/tun: {}\n"
                    "hint: modprobe tun (in a container: --device /dev/net/tun), or leave the delay out",
                    std::strerror(errno)));
}

Descriptor make_tun(const std::string& name) {
  auto tun = open_tun();
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  int header = sizeof(VirtioHeader);
  // Without the last one TCP cuts every segment itself: slower, and too slow for a fast link.
  if (!tun || ioctl(tun.get(), TUNSETIFF, &request) != 0 || ioctl(tun.get(), TUNSETVNETHDRSZ, &header) != 0 ||
      ioctl(tun.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
    throw RunFailed(fmt::format("the testbed cannot make a TUN device: {}", std::strerror(errno)));
  return tun;
}

}  // namespace ddpsim::validate
