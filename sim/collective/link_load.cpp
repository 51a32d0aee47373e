#include "sim/collective/link_load.hpp"

#include <algorithm>

namespace ddpsim {

double bytes_through(const Channel& channel, Operation operation, const Edge& edge) {
  auto chunking = chunking_of(channel, operation);
  return chunking.steps(Bytes(1)) * chunking.chunk(Bytes(1)).value() * edge.piece.count / edge.piece.of;
}

void add_link_bytes(const Stage& stage, Bytes buffer, std::vector<double>& bytes) {
  for (const auto& channel : stage.channels) {
    // Edges of a channel differ in their piece only.
    double through = bytes_through(channel, stage.operation, Edge()) * buffer.value();
    for (const auto& edge : channel.edges)
      for (int link : edge.route)
        if (auto l = static_cast<std::size_t>(link); l < bytes.size())
          bytes[l] += through * edge.piece.count / edge.piece.of;
  }
}

LinkLoad heaviest_link(const CollectiveSchedule& schedule,
                       const std::function<BytesPerSecond(int link)>& capacity) {
  int links = 0;
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels)
      for (const auto& edge : channel.edges)
        for (int link : edge.route) links = std::max(links, link + 1);
  std::vector<double> bytes(static_cast<std::size_t>(links));
  for (const auto& stage : schedule.stages) add_link_bytes(stage, Bytes(1), bytes);
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
