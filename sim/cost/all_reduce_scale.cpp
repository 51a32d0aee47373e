#include "sim/cost/all_reduce_scale.hpp"

#include <algorithm>

namespace ddpsim {

Seconds AllReduceScale::operator()(Seconds time, Seconds of_no_bytes) const {
  if (is_none()) return time;  // to the last bit
  Seconds least = std::min(time, of_no_bytes);
  return latency * least + growing * (time - least);
}

}  // namespace ddpsim
