#include "sim/collective/link_load.hpp"

#include <vector>

namespace ddpsim {

double bytes_through(const Channel& channel, Operation operation, const Edge& edge) {
  auto chunking = chunking_of(channel, operation);
  return chunking.steps(Bytes(1)) * chunking.chunk(Bytes(1)).value() / edge.piece.of;
}

LinkLoad heaviest_link(const CollectiveSchedule& schedule,
                       const std::function<BytesPerSecond(int link)>& capacity) {
  std::vector<double> bytes;  // by link
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels) {
      // Edges of a channel differ in their piece only.
      Edge whole;
      double through = bytes_through(channel, stage.operation, whole);
      for (const auto& edge : channel.edges)
        for (int link : edge.route) {
          auto l = static_cast<std::size_t>(link);
          if (l >= bytes.size()) bytes.resize(l + 1, 0);
          bytes[l] += through / edge.piece.of;
        }
    }
  LinkLoad heaviest;
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    if (bytes[l] == 0) continue;
    int link = static_cast<int>(l);
    double busy = bytes[l] / capacity(link).value();
    if (busy > heaviest.seconds_per_byte) heaviest = {busy, link};
  }
  return heaviest;
}

}  // namespace ddpsim
