#pragma once
// The collectives of a training step as somebody's profiler saw them on one rank, and their file
// (docs/reference/traces.md, "Recorded collectives").
#include <optional>
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// One all-reduce of a step. Times count from the start of the backward pass, each the median over the
// recorded steps. From launch to end is not from start to end: a collective waits for the one before it on
// its stream, and once started for the slowest rank of its group.
struct RecordedCollective {
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  Seconds ready;  // when the last of its gradients was ready on this rank
  Seconds start, end;
  Seconds duration;  // median of end - start, which is not the difference of the medians

  [[nodiscard]] Bytes bytes() const {
    return Bytes(static_cast<double>(elements) * bytes_per_element(dtype));
  }
  bool operator==(const RecordedCollective&) const = default;
};

struct RecordedCommunication {
  int world_size = 0;                           // ranks of the group that reduces
  int steps = 0;                                // recorded training steps the medians are over
  std::optional<std::string> source;            // where the recording comes from
  std::vector<RecordedCollective> collectives;  // in the order of their launch; never empty
  bool operator==(const RecordedCommunication&) const = default;
};

// Throws InputError with the place and a hint for anything that is not such a file.
RecordedCommunication read_recorded_communication(const std::string& path);
RecordedCommunication parse_recorded_communication(const LoadedText& text);

// The file's text; reading it gives the same again.
std::string write_recorded_communication(const RecordedCommunication& recorded);

// The collectives' times as an all-reduce table (`collective.measured`): one row a message size, the median
// of its durations.
std::string write_all_reduce_table(const RecordedCommunication& recorded);

}  // namespace ddpsim
