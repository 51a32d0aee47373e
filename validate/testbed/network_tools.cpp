#include "validate/testbed/network_tools.hpp"

#include <cerrno>
#include <fstream>

#include "validate/testbed/namespace.hpp"
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/check.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/process/external_program.hpp"

namespace ddpsim::validate {
namespace {

ExternalProgram tool(const std::string& name) {
  return {name, {"-batch", "-"}, "a testbed's links are made", "iproute2"};
}

// `shown` is a command that prints something: run_program takes silence for a failure.
void run(const ExternalProgram& program, std::string commands, std::string_view shown) {
  commands += shown;
  try {
    run_program(program, commands);
  } catch (const InternalError& error) {
    throw RunFailed(fmt::format("the testbed cannot be set up: {}", error.what()));
  }
}

std::string setting_path(const std::string& name) {
  return "/proc/sys/net/" + name;
}

}  // namespace

void require_network_tools() {
  require_program(tool("ip"));
  require_program(tool("tc"));
}

void run_ip(std::string commands) {
  run(tool("ip"), std::move(commands), "link show dev lo\n");
}

void run_tc(std::string commands) {
  run(tool("tc"), std::move(commands), "qdisc show\n");
}

bool write_setting(const std::string& name, std::string_view value) {
  Descriptor file(open(setting_path(name).c_str(), O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::string read_setting(const std::string& name) {
  std::ifstream file(setting_path(name));
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> configure_tcp() {
  // Buffers larger than any link's bandwidth-delay product; 256 KiB of a socket may wait in the link's queue:
  // with the kernel's small default a ring of four and more ranks starves its links.
  constexpr std::pair<const char*, const char*> settings[] = {
      {"ipv4/tcp_congestion_control", "reno"},  // always there, and without losses the same as any other
      {"ipv4/tcp_slow_start_after_idle", "0"},   {"ipv4/tcp_no_metrics_save", "1"},
      {"ipv4/tcp_limit_output_bytes", "262144"}, {"ipv4/tcp_rmem", "4096 8388608 33554432"},
      {"ipv4/tcp_wmem", "4096 2097152 4194304"},
  };
  std::vector<std::string> refused;
  for (const auto& [name, value] : settings)
    if (!write_setting(name, value)) refused.emplace_back(name);
  // Nobody asks for IPv6, and its announcements would disturb; a kernel without it needs no telling.
  write_setting("ipv6/conf/default/disable_ipv6", "1");
  return refused;
}

}  // namespace ddpsim::validate
