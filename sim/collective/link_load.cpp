#include "sim/collective/link_load.hpp"

#include <vector>

namespace ddpsim {

LinkLoad heaviest_link(const CollectiveSchedule& schedule,
                       const std::function<BytesPerSecond(int link)>& capacity) {
  std::vector<double> bytes;  // by link
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels) {
      // All steps of a ring's edge, of all of every chunk on a pipeline's.
      auto chunking = chunking_of(channel, stage.operation);
      double through = chunking.steps(Bytes(1)) * chunking.chunk(Bytes(1)).value();
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
