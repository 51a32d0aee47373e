#pragma once
// Reads the JSON of a profiler's trace event by event; nothing but the event at hand lies in memory.
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sim/trace/compressed_text.hpp"
#include "sim/trace/import/pytorch_profiler/event.hpp"

namespace ddpsim::pytorch_profiler {

// What the file says besides its events.
struct TraceFacts {
  std::map<std::int64_t, std::string> device_names;  // deviceProperties: id -> name
  std::optional<std::int64_t> world_size;            // distributedInfo
  std::string nccl_version;                          // the same; empty: not said
  std::uint64_t begin_or_end_events = 0;             // ph "B" and "E", which are not understood
  std::uint64_t complete_events = 0;                 // ph "X"
};

// Hands every complete event to `on_event`, in the order of the file. Throws InputError for what is no JSON
// and for JSON that is no trace: neither an object with an array "traceEvents" nor an array of events.
TraceFacts read_events(CompressedText& text, const std::function<void(const Event&)>& on_event);

}  // namespace ddpsim::pytorch_profiler
