#pragma once
// One complete event (ph "X") of a profiler's trace as the file writes it, with the fields that count here.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim::pytorch_profiler {

// A time on the profiler's clock, which CPU and GPU events share.
using Time = std::chrono::nanoseconds;

// A microsecond count like "4458676416788.066", rounded to the nanosecond. None for what is no number or
// absurd (95 years and more).
std::optional<Time> parse_microseconds(std::string_view text);

struct Event {
  std::string phase, category, name, process, thread;
  std::string start, duration;  // as written; empty where missing
  // Of "args"; empty where missing or no whole number.
  std::optional<std::int64_t> correlation, device, stream, bytes, elements, group_size,
      id;  // "External id": of an operator, and of what it launched
  // Of an operator that autograd recorded and of the node it became: the thread of the forward pass, and a
  // count there.
  std::optional<std::int64_t> forward_thread, sequence_number;
  std::string dtype, collective;
  std::vector<std::vector<std::int64_t>> shapes;  // "Input Dims"; of a list of tensors empty
  std::vector<std::vector<std::int64_t>>
      first_list;                             // the same of each tensor, where the first input is a list
  std::vector<std::string> types;             // "Input type"
  std::vector<std::int64_t> launch_shape;     // of a kernel: "grid" and "block"
  std::optional<std::int64_t> shared_memory;  // the same
};

}  // namespace ddpsim::pytorch_profiler
