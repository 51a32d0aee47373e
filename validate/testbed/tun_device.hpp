#pragma once
// A network device whose packets a program reads and writes (Documentation/networking/tuntap.rst).
#include <string>

#include "validate/testbed/namespace.hpp"

namespace ddpsim::validate {

// Throws BackendMissing without /dev/net/tun.
void require_tun();

// Makes the device in the calling thread's namespace; it lives as long as its file is open. Each read and
// write is one packet as packet.hpp has it, and never blocks. Throws RunFailed.
Descriptor make_tun(const std::string& name);

}  // namespace ddpsim::validate
