#pragma once
// iproute2 and the kernel's network settings, in whatever namespace the calling thread is.
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim::validate {

// Throws BackendMissing without ip or tc.
void require_network_tools();

// Run commands, one a line. Throw RunFailed with the tool's complaint at the first that fails.
void run_ip(std::string commands);
void run_tc(std::string commands);

// One file below /proc/sys/net.
bool write_setting(const std::string& name, std::string_view value);
std::string read_setting(const std::string& name);  // without the line end; empty when there is none

// How TCP behaves in this namespace, so that links and not windows limit what ranks send. Returns what the
// kernel refused.
std::vector<std::string> configure_tcp();

}  // namespace ddpsim::validate
