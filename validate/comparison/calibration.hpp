#pragma once
// Collectives of their own, measured before a scenario is run, from which its times are predicted.
#include <optional>
#include <string>
#include <vector>

#include "validate/harness/step.hpp"

#include "sim/collective/backend.hpp"
#include "sim/engine/messages.hpp"

namespace ddpsim::validate {

// One size, alone and, where it was measured, behind another one.
struct MeasuredCollective {
  Message message;
  Seconds time;                   // median
  std::optional<Seconds> spread;  // standard deviation
  std::optional<Seconds> queued;

  [[nodiscard]] BytesPerSecond algbw() const { return message.bytes / time; }
  [[nodiscard]] BytesPerSecond busbw(int world_size) const {
    return algbw() * busbw_factor(message.operation, world_size);
  }
};

// Of each operation: from 1 KiB, or below the smallest message, to beyond the largest, each twice the one
// before. None is within 2 % of a message of these: a prediction has to interpolate. (Nothing is below a
// message of four bytes.)
std::vector<Message> calibration_messages(const std::vector<Message>& wanted);
// "all-gathers of 12 sizes from 1 KiB to 3 MiB"
std::string describe(const std::vector<Message>& messages);

// Two steps a message: one collective, and several launched at once (none beyond 32 MiB, where it makes no
// difference).
std::vector<Step> calibration_steps(const std::vector<Message>& messages, int ranks,
                                    const Sampling& sampling);
// What they took. A queued one takes what each beyond the first adds to the step.
std::vector<MeasuredCollective> measured_collectives(const RunResult& result,
                                                     const std::vector<Message>& messages);

// As an all-reduce table (docs/reference/measured.md).
std::string collective_table(const std::vector<MeasuredCollective>& measured, int world_size, Backend backend,
                             const std::string& source);

// `total` all-reduced in chunks of each size, all launched at once (Li et al., PyTorch Distributed, VLDB
// 2020, figure 2).
std::vector<Step> chunk_steps(Bytes total, const std::vector<Bytes>& chunks, const Sampling& sampling);

}  // namespace ddpsim::validate
