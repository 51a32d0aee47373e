#pragma once
// A measured table, what NCCL's model says of the machine it was measured on, and what it predicts.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/collective_table.hpp"
#include "sim/nccl/peer_model.hpp"

namespace ddpsim::calibrate {

// Smaller messages are latency and noise, and are left alone.
inline constexpr Bytes kSmallest(512);
// From here on messages count as large: curves are fitted to them, and they are what errors are given of.
inline constexpr Bytes kLarge(256 * 1024.0);

// One point: the faster of out of place and in place (a stall only adds time).
struct Point {
  Bytes bytes;
  Seconds measured;
  SourceSpan span;
  std::optional<double> places_ratio;  // out of place over in place
};
std::vector<Point> points_of(const CollectiveTable& table, Bytes from = kSmallest);

struct Measurement {
  CollectiveTable table;
  nccl::Communicator communicator;  // of the release that the table names
  nccl::Allowed allowed;            // what NCCL was left to choose from
  nccl::Collective collective;
  // Of all-to-all and send/recv, over the ways that such a communicator's messages take; none: no link
  // bounds them.
  std::function<nccl::LinkBounds(const nccl::Communicator&)> link_bounds = {};

  [[nodiscard]] bool across_nodes() const { return communicator.nodes > 1; }
  // Inside an NVLink node there are lines, elsewhere curves of all-reduces.
  [[nodiscard]] bool has_lines() const { return nccl::is_nvlink_node(communicator); }
  [[nodiscard]] SourceSpan place() const { return table.rows.front().span; }
};

// "ring", or "direct" where the tuner does not choose.
std::string algorithm_name(const Measurement& measurement, Bytes bytes);

// With the lines and curves of `calibration`; where it has none, with what the simulator takes instead.
std::function<Seconds(Bytes)> predictor(const Measurement& measurement, const nccl::Calibration& calibration);

}  // namespace ddpsim::calibrate
