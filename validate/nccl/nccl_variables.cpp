#include "validate/nccl/nccl_variables.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "validate/nccl/gpu.hpp"
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/one_line.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

void set_unless_set(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);
}

void set_once(const RankPlace& place) {
  bool shared = share_gpu();
  if (shared && place.ranks_here > 1)
    throw InputError("DDPSIM_SHARE_GPU=1 needs a process for each rank", "NCCL takes a process for one host");
  if (!place.interface.empty())
    set_unless_set("NCCL_SOCKET_IFNAME", "=" + place.interface);
  else if (shared)
    set_unless_set("NCCL_SOCKET_IFNAME", "=lo");
  if (!shared) return;
  ::setenv("NCCL_HOSTID", fmt::format("ddpsim-rank-{}", place.rank).c_str(), 1);
  set_unless_set("NCCL_NET", "Socket");
  // Of no use between hosts, and not to be tried.
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"})
    set_unless_set(name, "1");
  set_unless_set("NCCL_MNNVL_ENABLE", "0");
}

}  // namespace

void set_nccl_variables(const RankPlace& place) {
  static std::once_flag once;  // threads that call getenv must not meet one that calls setenv
  std::call_once(once, set_once, place);
}

Environment nccl_variables() {
  Environment found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string text = *variable;
    auto equals = text.find('=');
    if (text.starts_with("NCCL_") && equals != std::string::npos)
      found.emplace_back(text.substr(0, equals), one_line(text.substr(equals + 1)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ddpsim::validate
