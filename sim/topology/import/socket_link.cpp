#include "sim/topology/import/socket_link.hpp"

#include <fmt/core.h>

namespace ddpsim {

void add_socket_link(ImportedNode& node, const TopologyImport& import, std::optional<HostCpu> in_file,
                     std::string_view file) {
  if (import.socket_bandwidth) {
    node.socket = *import.socket_bandwidth;
    node.socket_source = fmt::format("{} GB/s per direction (--socket-bandwidth)", node.socket.value() / 1e9);
    return;
  }
  const auto& figures = socket_figures(in_file ? *in_file : import.cpu.value_or(HostCpu::skylake));
  if (node.socket.value() > 0 && node.socket <= figures.bandwidth) return;
  node.socket = figures.bandwidth;
  std::string why = "; --socket-bandwidth sets another";
  if (!in_file)
    why = import.cpu_is_vendor
              ? "; an assumption: --cpu intel does not say which; --cpu sapphire-rapids and others do"
          : import.cpu ? " (--cpu)" + why
                       : fmt::format(
                             "; an assumption: {} does not say which CPUs these are; --cpu or "
                             "--socket-bandwidth does",
                             file);
  node.socket_source = fmt::format("{} GB/s per direction, as NCCL counts {} ({} in src/graph/topo.h){}",
                                   node.socket.value() / 1e9, figures.option, figures.source, why);
}

}  // namespace ddpsim
