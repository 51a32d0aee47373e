#pragma once
// Who of a job does what, where a rank of each kind was recorded: whose step each rank has, and whom its
// communicators join.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/trace/recording.hpp"

namespace ddpsim {

// One for each group of a recording, and for the messages of a group from one stage to another.
struct RecordedCommunicator {
  std::string name;  // an axis of the device mesh; "data" of all ranks
  std::vector<Operation> operations;
  // Sets of so many ranks, so far apart, that tile the job; 0: those listed, and other ranks are in none.
  int size = 0, stride = 1;
  std::vector<std::vector<int>> groups = {};  // of messages the sender first
};

struct RecordedRanks {
  std::vector<std::size_t> program_of_rank;  // a recording; empty: all ranks do as the only one does
  std::vector<RecordedCommunicator> communicators;
  std::vector<std::vector<std::size_t>> of_program;  // by recording: those that its ranks are in
  // By recording: over which of those an item goes.
  std::vector<std::map<std::size_t, std::size_t>> of_item;
};

// What a rank does, of such a list.
inline std::size_t program_of(std::span<const std::size_t> program_of_rank, std::size_t rank) {
  return program_of_rank.empty() ? 0 : program_of_rank[rank];
}

// Whether a collective is one on the GPU, among several ranks.
bool communicates(const Recording& recording, const LaunchedCollective& one);
// A barrier's is NCCL's.
Operation operation_of(const LaunchedCollective& one);

// A rank's place in its pipeline says whose step it has: the axis along which messages go. Throws InputError
// where ranks are missing, or groups are no communicators of all ranks.
RecordedRanks recorded_ranks(const Recordings& recordings);

}  // namespace ddpsim
