#include "sim/strategy/recorded_memory.hpp"

#include <array>
#include <cmath>
#include <map>

namespace ddpsim {
namespace {

constexpr double kBlock = 512;

Bytes in_blocks(Bytes bytes) {
  return Bytes(kBlock * std::ceil(bytes.value() / kBlock));
}

// In turn, as storages come and go.
template <class See>
void each_storage(const Recording& recording, See see) {
  std::map<std::size_t, std::pair<std::size_t, RecordedAllocation>> held;  // by storage
  std::size_t count = 0;
  for (const auto& item : recording.items) {
    if (const auto* begins = std::get_if<RecordedAllocation>(&item)) {
      held[begins->storage] = {count, *begins};
      see(count++, *begins, false);
    } else if (const auto* ends = std::get_if<RecordedFree>(&item)) {
      const auto& [number, allocation] = held.at(ends->storage);
      see(number, allocation, true);
    }
  }
}

}  // namespace

std::vector<MemoryEvent> recorded_memory_timeline(const Recording& recording) {
  std::vector<MemoryEvent> events;
  each_storage(recording, [&](std::size_t number, const RecordedAllocation& one, bool is_freed) {
    events.push_back(
        {std::string(name_in(kRecordedUseNames, one.use)), in_blocks(one.bytes), number, is_freed});
  });
  return events;
}

MemoryParts recorded_memory(const RecordedWork& work, const Recording& recording, int communicators) {
  using Levels = std::array<Bytes, kRecordedUseNames.size()>;
  Levels now{}, most{};
  Bytes level, peak;
  each_storage(recording, [&](std::size_t, const RecordedAllocation& one, bool is_freed) {
    Bytes change = (is_freed ? -1.0 : 1.0) * in_blocks(one.bytes);
    now[static_cast<std::size_t>(one.use)] += change;
    level += change;
    if (level > peak) peak = level, most = now;
  });
  auto of = [&](RecordedUse use) { return most[static_cast<std::size_t>(use)]; };
  MemoryParts parts;
  parts.parameters = of(RecordedUse::parameters);
  parts.gradients = of(RecordedUse::gradients);
  parts.optimizer = of(RecordedUse::optimizer);
  parts.activations = of(RecordedUse::activations) + of(RecordedUse::temporaries) + of(RecordedUse::other);
  parts.buckets = of(RecordedUse::collectives);
  parts.workspaces = product_workspaces(work.gpu.architecture, false, false);
  const auto& use = work.software.memory_use;
  parts.other = outside_allocator(use, communicators) + (use.fragmentation - 1) * parts.activations;
  return parts;
}

}  // namespace ddpsim
