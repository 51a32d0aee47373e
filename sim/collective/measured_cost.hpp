#pragma once
// The time of a collective from a measured table of (operation, bytes, time).
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/csv.hpp"
#include "sim/base/note.hpp"
#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"
#include "sim/collective/backend.hpp"

namespace ddpsim {

struct MeasuredPoint {
  Bytes bytes;
  Seconds measured;  // as the table says
  Seconds time;      // after pooling
};

// What happens to times that fall with size.
enum class Pooling {
  monotone,  // neighbouring points are pooled to their common geometric mean until none does
  none,      // they stay: each is that of one bucket, as in a replay of recorded collectives
};

// Between two points the time is linear in bytes, so an alpha + bytes/beta cost is reproduced exactly. Below
// the first point the line through the first two goes on, but never below proportion to bytes (one point
// alone is a floor) and never above the first; beyond the last one the time grows in proportion to bytes, at
// the last algbw. Pooling is isotonic regression in log time by pooling adjacent violators: repaired_points()
// says where.
class MeasuredCost {
 public:
  // Bytes strictly ascending, times positive; at least one point.
  explicit MeasuredCost(std::vector<MeasuredPoint> points, Pooling pooling = Pooling::monotone);

  [[nodiscard]] Seconds operator()(Bytes bytes) const;
  [[nodiscard]] const std::vector<MeasuredPoint>& points() const { return points_; }
  [[nodiscard]] std::vector<MeasuredPoint> repaired_points() const;
  // Whether each time is that of one bucket (Pooling::none), of which no other size can be told.
  [[nodiscard]] bool is_replay() const { return pooling_ == Pooling::none; }
  // Whether no time falls with size.
  [[nodiscard]] bool grows() const;

 private:
  std::vector<MeasuredPoint> points_;
  Pooling pooling_;
};

// A collective that starts while the lane is free is isolated. One that had to wait for the one before it
// costs less or more: its start overlaps the other's end, and links had no pause.
struct OperationTimes {
  MeasuredCost cost;                                  // isolated
  std::optional<MeasuredCost> queued = std::nullopt;  // absent, and beyond its largest message: the same

  [[nodiscard]] Seconds time(Bytes bytes, bool is_queued) const {
    return is_queued && queued && bytes <= queued->points().back().bytes ? (*queued)(bytes) : cost(bytes);
  }
};

struct MeasuredTable {
  std::map<Operation, OperationTimes> operations;  // at least one
  int world_size = 0;
  std::optional<std::string> run_set = std::nullopt;  // what was measured together, on one machine and day
  std::optional<Backend> backend = std::nullopt;      // who was measured, where the table says it

  [[nodiscard]] bool has(Operation operation) const { return operations.contains(operation); }
  [[nodiscard]] const OperationTimes& of(Operation operation) const { return operations.at(operation); }
  // Whose times stand for an operation's: its own, or an all-reduce's, of which it takes a share.
  [[nodiscard]] Operation read_as(Operation operation) const {
    return has(operation) ? operation : Operation::all_reduce;
  }
  [[nodiscard]] bool is_replay() const;  // MeasuredCost, of any operation
  [[nodiscard]] bool grows() const;      // of all operations
};

// What is unlikely about a table: a single row, or times and sizes in other units (codes table-one-row,
// table-units).
std::vector<Note> table_notes(const MeasuredTable& table);

// Reads an all-reduce table (docs/reference/measured.md): "# ddpsim-allreduce: 1", "# world_size: N",
// optionally "# backend: nccl", "# pooling: none" and "# run_set: NAME", columns bytes, time_s and optionally
// operation (else all are all-reduces), std_s and queued_s (empty where it was not measured). Throws
// InputError with the place and a hint.
MeasuredTable read_measured_table(const std::string& path);

}  // namespace ddpsim
