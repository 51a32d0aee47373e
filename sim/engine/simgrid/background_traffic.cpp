#include "sim/engine/simgrid/background_traffic.hpp"

#include <algorithm>

namespace ddpsim::simgrid {

Bytes BackgroundTraffic::size_of(const BackgroundFlow& flow, const std::vector<int>& route,
                                 const std::vector<BytesPerSecond>& capacities) {
  if (flow.size) return *flow.size;
  BytesPerSecond narrowest = capacities[static_cast<std::size_t>(route.front())];
  for (int link : route) narrowest = std::min(narrowest, capacities[static_cast<std::size_t>(link)]);
  return 2 * (narrowest * (*flow.end - flow.start));  // it is never through before its end
}

void BackgroundTraffic::prepare(Seconds origin) {
  network_.after(flow_.start - origin, [this] {
    runs_ = true;
    users_.enter(*this);
    transfer_ = network_.transfer(route_, size_, [this] { leave(); });
  });
  if (!flow_.end) return;
  network_.after(*flow_.end - origin, [this] {
    if (!runs_) return;
    network_.cancel(transfer_);
    leave();
  });
}

void BackgroundTraffic::leave() {
  runs_ = false;
  users_.leave(*this);
}

}  // namespace ddpsim::simgrid
