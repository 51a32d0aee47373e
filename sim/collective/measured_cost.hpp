#pragma once
// The time of an all-reduce from a measured table of (bytes, time).
#include <string>
#include <vector>

#include "sim/base/csv.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

struct MeasuredPoint {
  Bytes bytes;
  Seconds measured;  // as the table says
  Seconds time;      // after the repair: never less than that of a smaller message
};

// Between two points the time is linear in bytes, so an alpha + bytes/beta cost is reproduced exactly. Below
// the first point the line through the first two goes on, but never below proportion to bytes (one point
// alone is a floor); beyond the last one the time grows in proportion to bytes, at the last algbw. Where the
// table decreases, neighbouring points are pooled to their common geometric mean until it does not (isotonic
// regression in log time by pooling adjacent violators): repaired_points() says where.
class MeasuredCost {
 public:
  // Bytes strictly ascending, times positive; at least one point.
  explicit MeasuredCost(std::vector<MeasuredPoint> points);

  [[nodiscard]] Seconds operator()(Bytes bytes) const;
  [[nodiscard]] const std::vector<MeasuredPoint>& points() const { return points_; }
  [[nodiscard]] std::vector<MeasuredPoint> repaired_points() const;

 private:
  std::vector<MeasuredPoint> points_;
};

struct MeasuredTable {
  MeasuredCost cost;
  int world_size = 0;
};

// Reads an all-reduce table (docs/formats.md): "# ddpsim-allreduce: 1", "# world_size: N", columns bytes,
// time_s and optionally std_s. Throws InputError with the place and a hint.
MeasuredTable read_measured_table(const std::string& path);

}  // namespace ddpsim
