#include "sim/collective/slots.hpp"

#include <utility>
#include <vector>

#include <fmt/core.h>

namespace ddpsim {

std::optional<std::string> find_slot_error(const CollectiveSchedule& schedule) {
  using Item = std::pair<int, int>;  // who sends it to whom
  int n = schedule.ranks;
  std::vector<std::vector<Item>> slots(n);
  for (int rank = 0; rank < n; ++rank)
    for (int d = 0; d < n; ++d) slots[rank].emplace_back(rank, (rank + d) % n);
  for (const auto& stage : schedule.stages) {
    auto before = slots;
    for (const auto& channel : stage.channels)
      for (const auto& edge : channel.edges) {
        if (edge.piece.of != n || edge.reduce)
          return fmt::format("the edge from rank {} to rank {} sends no slots", edge.from, edge.to);
        for (int slot = edge.piece.index; slot < edge.piece.index + edge.piece.count; ++slot)
          slots[edge.to][slot] = before[edge.from][slot];
      }
  }
  for (int rank = 0; rank < n; ++rank)
    for (int d = 0; d < n; ++d)
      if (Item meant{(rank + n - d) % n, rank}; slots[rank][d] != meant)
        return fmt::format("rank {} has what rank {} sends to rank {}, not what rank {} sends to it", rank,
                           slots[rank][d].first, slots[rank][d].second, meant.first);
  return std::nullopt;
}

}  // namespace ddpsim
