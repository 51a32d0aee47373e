#include "sim/trace/recording.hpp"

#include <algorithm>

namespace ddpsim {

bool Recording::is_of_ddp() const {
  return std::ranges::any_of(items,
                             [](const auto& item) { return std::holds_alternative<RecordedGradient>(item); });
}

int Recording::micro_batches() const {
  int many = 0;
  bool is_forward = false;
  for (const auto& item : items) {
    const auto* op = std::get_if<RecordedOperator>(&item);
    if (!op || op->phase == RecordedPhase::recompute || op->phase == RecordedPhase::optimizer) continue;
    bool was_forward = std::exchange(is_forward, op->phase == RecordedPhase::forward);
    if (is_forward && !was_forward) ++many;
  }
  return std::max(1, many);
}

}  // namespace ddpsim
