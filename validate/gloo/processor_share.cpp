#include "validate/gloo/processor_share.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

namespace ddpsim::validate {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

}  // namespace

std::pair<std::string, std::string> take_cores(int local_rank, int local_world_size) {
  auto cores = allowed_cores();
  auto n = static_cast<int>(cores.size());
  int share = std::max(1, n / std::max(1, local_world_size));
  std::vector<int> mine;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < share && n > 0; ++i) {
    mine.push_back(cores[static_cast<std::size_t>((local_rank * share + i) % n)]);
    CPU_SET(mine.back(), &set);
  }
  if (mine.empty() || sched_setaffinity(0, sizeof set, &set) != 0) return {"cores", "not bound"};
  return {"cores", fmt::format("{} of {}, bound to {}", share, n, fmt::join(mine, ", "))};
}

bool take_priority(Priority priority) {
#ifdef __SANITIZE_ADDRESS__
  // The sanitizer's locks spin: a thread that wants one would keep a lower one that holds it off its core.
  constexpr bool kAllowed = false;
#else
  constexpr bool kAllowed = true;
#endif
  sched_param parameters{};
  parameters.sched_priority = priority == Priority::communication ? 10 : 9;
  return kAllowed && sched_setscheduler(0, SCHED_RR, &parameters) == 0;
}

void restore_priority() {
  sched_param parameters{};
  static_cast<void>(sched_setscheduler(0, SCHED_OTHER, &parameters));
}

}  // namespace ddpsim::validate
