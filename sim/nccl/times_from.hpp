#pragma once
// Where a time comes from, and which of a machine's lines are more than its class's.
#include <functional>
#include <string_view>

#include "sim/nccl/calibration.hpp"

namespace ddpsim::nccl {

enum class TimesFrom {
  own,
  fewer_gpus,
  other_algorithm,
  other_operation,
  other_sizes,
  node_class,
  links,
  tuner,
  symmetric
};
// For people: "calibrated on fewer GPUs", "class H100, not this machine".
std::string_view source_text(TimesFrom source, const Communicator& communicator);
// "calibrated", "class", "links" or "tuner". Sizes far from those of any row are the class's within an NVLink
// node, and the tuner's elsewhere.
std::string_view kind_name(TimesFrom source, const Communicator& communicator);

// Of something that was measured: what is special about asking it of so many ranks and bytes, else `from`.
TimesFrom measured_times(TimesFrom from, const std::vector<FittedRows>& fitted_to, int ranks, Bytes bytes);

// Of a message's time on these lines. The class's, unless most of what the time depends on was measured: the
// parameters that rows determined have the greater part of its elasticities.
TimesFrom times_on_ring_lines(const NodeLines& lines, int ranks, Bytes bytes,
                              const std::function<Seconds(const RingLines&)>& time);
TimesFrom times_on_peer_lines(const NodeLines& lines, int ranks, Bytes bytes,
                              const std::function<Seconds(const PeerLines&)>& time);

// By how much a time changes with a parameter: |d ln t / d ln p|.
template <class Lines>
double elasticity(const Lines& lines, double Lines::*parameter,
                  const std::function<Seconds(const Lines&)>& time) {
  constexpr double kStep = 0.01;
  auto moved = lines;
  moved.*parameter *= 1 + kStep;
  double change = time(moved) / time(lines) - 1;
  return (change < 0 ? -change : change) / kStep;
}

}  // namespace ddpsim::nccl
