#include "sim/replay/background_traffic.hpp"

#include <algorithm>
#include <limits>

namespace ddpsim {

void BackgroundTraffic::prepare(Seconds origin) {
  left_ = flow_.size.value_or(Bytes(std::numeric_limits<double>::infinity()));
  network_.after(flow_.start - origin, [this] {
    if (is_over_()) return;
    runs_ = true;
    users_.enter(*this);
    send();
  });
  if (!flow_.end) return;
  network_.after(*flow_.end - origin, [this] {
    if (!runs_) return;
    network_.cancel(transfer_);
    leave();
  });
}

void BackgroundTraffic::send() {
  Bytes bytes = std::min(left_, piece_);
  left_ = left_ - bytes;
  transfer_ = network_.transfer(route_, bytes, [this] {
    if (left_ > Bytes(0) && !is_over_())
      send();
    else
      leave();
  });
}

void BackgroundTraffic::leave() {
  runs_ = false;
  users_.leave(*this);
}

}  // namespace ddpsim
