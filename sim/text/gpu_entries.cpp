#include "sim/text/gpu_entries.hpp"

#include <algorithm>

namespace ddpsim {

GpuEntry entry_for(const std::vector<config::Entry>& entries, const GpuNames& gpu) {
  auto stands_in = [&](std::string_view name) {
    return std::ranges::find_if(entries, [name](const config::Entry& entry) {
      return name.find(entry.key) != std::string_view::npos;
    });
  };
  if (auto found = stands_in(gpu.name); found != entries.end()) return {*found, GpuEntry::Of::itself};
  for (const auto& name : gpu.same_chip)
    if (auto found = stands_in(name); found != entries.end()) return {*found, GpuEntry::Of::same_chip};
  return {entries.back(), GpuEntry::Of::another};
}

}  // namespace ddpsim
