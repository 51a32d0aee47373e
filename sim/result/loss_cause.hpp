#pragma once
// What makes a step longer than forward and backward of a GPU of the usual speed with nothing beside it.
#include <array>
#include <string_view>

#include "sim/base/names.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

// In the order in which results say them.
enum class LossCause {
  spread,
  interference,
  tensor,
  context,
  expert,
  bubble,
  ends,
  buffer_broadcast,
  copies,
  launches,
  host,
  optimizer
};

struct LossCauseRow {
  LossCause cause;
  std::string_view key;         // of results
  std::string_view title;       // in the summary of an iteration
  std::string_view meaning;     // for --explain
  bool of_communication;        // gone without communication
  bool is_in_backward = false;  // makes the backward pass longer
};
inline constexpr std::array kLossCauses{
    LossCauseRow{LossCause::spread, "spread", "spread of GPUs",
                 "GPUs slower than the usual one, for which all others wait", false, true},
    LossCauseRow{LossCause::interference, "interference", "interference",
                 "compute slowed down by collectives beside it", true},
    LossCauseRow{LossCause::tensor, "tensor", "tensor parallel",
                 "collectives of tensor parallelism that nothing hides, within the passes", true, true},
    LossCauseRow{LossCause::context, "context", "context parallel",
                 "exchanges of GPUs that share sequences, within the passes", true, true},
    LossCauseRow{LossCause::expert, "expert", "expert parallel",
                 "exchanges of GPUs that share experts, within the passes", true, true},
    LossCauseRow{LossCause::bubble, "bubble", "pipeline bubble",
                 "stages of the pipeline that wait for one another", false},
    LossCauseRow{LossCause::ends, "ends", "exposed communication", "waiting for communication", true},
    LossCauseRow{LossCause::buffer_broadcast, "buffer_broadcast", "buffers, broadcast",
                 "broadcasts of buffers", true},
    LossCauseRow{LossCause::copies, "copies", "copies", "copies of gradients and parameters", true},
    LossCauseRow{LossCause::launches, "launches", "launches", "hooks and launches", true},
    LossCauseRow{LossCause::host, "host", "the host's hooks", "the host's hooks, which the GPU waits for",
                 false, true},
    LossCauseRow{LossCause::optimizer, "optimizer", "optimizer", "the optimizer", false}};

constexpr const LossCauseRow& row_of(LossCause cause) {
  return kLossCauses.at(static_cast<std::size_t>(cause));
}
static_assert(has_each_in_order(kLossCauses, &LossCauseRow::cause, LossCause::optimizer));

struct Loss {
  LossCause cause;
  Seconds seconds;
  [[nodiscard]] constexpr const LossCauseRow& row() const { return row_of(cause); }
};

}  // namespace ddpsim
