#pragma once
// What NCCL prints with NCCL_DEBUG=INFO of its communicators: rings, trees, channels and transports, in lines
// behind "NCCL INFO" and whatever a launcher puts before them. The lines are those of 2.8 to 2.30
// (src/init.cc, src/transport/*.cc, src/graph/search.cc).
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::nccl {

// "Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, ...", of NCCL_DEBUG_SUBSYS=GRAPH.
struct LoggedGraph {
  int pattern = 0, channels = 0;
  double intra = 0, inter = 0;  // GB/s of a channel
};
inline constexpr int kRingPattern = 4, kNvlsPattern = 5;

struct LoggedCommunicator {
  int ranks = 0;
  int nodes = 0;                          // 0: not said
  int channels = 0;                       // of rings; 0: not said
  std::map<int, std::vector<int>> rings;  // by channel; shorter than `ranks` where NCCL cuts the line off
  std::set<std::string> within, between;  // "P2P/CUMEM", "SHM/direct", "NET/IB"
  std::set<std::string> nics;             // of NET
  bool has_gpudirect = false;
  std::optional<bool> multicast;           // NVLS
  std::optional<bool> has_balanced_trees;  // more than one rank of a node reaches others in one tree
  std::vector<LoggedGraph> graphs;
  SourceSpan place;
};

struct DebugLog {
  std::optional<Version> version;
  std::vector<LoggedCommunicator> communicators;   // by the number of ranks, the largest first, one of each
  std::map<std::string, std::string> environment;  // "NCCL_P2P_LEVEL" -> "LOC"
};

// Throws InputError where nothing of it is of NCCL, or no communicator is in it.
DebugLog read_debug_log(const LoadedText& log);

}  // namespace ddpsim::nccl
