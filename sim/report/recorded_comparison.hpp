#pragma once
// A simulated iteration beside the all-reduces that somebody's profiler recorded.
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/result/metrics.hpp"
#include "sim/trace/recorded_communication.hpp"

namespace ddpsim {

// What the all-reduces of a step sum up to, recorded or simulated.
struct CommunicationTotals {
  Seconds last_ready;  // of the gradients: the end of the backward pass
  Seconds last_end;    // of the all-reduces
  Seconds in_flight;   // the sum of their times

  // What of the communication the backward pass does not hide.
  [[nodiscard]] Seconds exposed() const { return last_end - last_ready; }
};

struct ComparedCollective {
  RecordedCollective recorded;
  BucketMetrics simulated;

  [[nodiscard]] Seconds start_difference() const { return simulated.start - recorded.start; }
  [[nodiscard]] Seconds end_difference() const { return simulated.end - recorded.end; }
  // The same as a share of the recorded end; nothing where that is zero.
  [[nodiscard]] std::optional<double> end_relative_difference() const {
    if (recorded.end <= Seconds(0)) return std::nullopt;
    return end_difference() / recorded.end;
  }
};

struct RecordedComparison {
  int world_size = 0;  // of the recording
  int steps = 0;
  std::vector<ComparedCollective> collectives;  // in the order of their launch
  CommunicationTotals recorded, simulated;
};

// Throws InputError, naming the file at `path`, unless the plan reduces the recorded buckets, in their order,
// and every group (`groups`: the ranks of each) has as many ranks; says what would.
void check_recorded(const RecordedCommunication& recorded, const std::string& path,
                    const std::vector<int>& groups, const LayerTrace& trace, const ReductionPlan& plan,
                    const DdpOptions& options);

// Of an iteration of such a plan.
RecordedComparison compare_recorded(const RecordedCommunication& recorded, const IterationMetrics& metrics);

void print_comparison(std::ostream& out, const RecordedComparison& comparison);

}  // namespace ddpsim
