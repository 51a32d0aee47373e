#pragma once
// A communicator beside NCCL's own log of it.
#include <string>
#include <string_view>
#include <vector>

#include "sim/nccl/communicator.hpp"
#include "sim/nccl/debug_log.hpp"

namespace ddpsim::nccl {

struct ComparedRow {
  std::string_view what;          // "rings"
  std::string predicted, logged;  // "24 channels"; "-": the log does not say it
  bool differs = false;
  std::string why = {};  // of a difference: what it may come from
};

// Channels as init.cc prints them, "Channel 00/24": those of the search, doubled (connect.cc).
int printed_channels(const Communicator& communicator);

// `ring_orders`: how many different orders the predicted rings have. Throws InputError where the log has no
// communicator of as many ranks.
std::vector<ComparedRow> compare_with_log(const Communicator& communicator, int ring_orders,
                                          const DebugLog& log);

}  // namespace ddpsim::nccl
