#pragma once
// What the programs that run ranks have in common: `PROGRAM JOB RESULT`, where JOB is a Job as JSON and
// RESULT the RunResult that rank 0 writes. The launcher tells each process who it is in the environment.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "validate/harness/collective_backend.hpp"
#include "validate/harness/step.hpp"
#include "validate/harness/step_performer.hpp"

namespace ddpsim::validate {

// Where this process stands. From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun sets
// them; LOCAL_WORLD_SIZE, where it is set, ranks are on this machine; DDPSIM_RANKS_HERE (default 1) ranks
// from RANK on live in this process; DDPSIM_INTERFACE is the network interface to use (empty: the backend's
// choice). DDPSIM_MEETING_FILE stands in for MASTER_PORT where all ranks are on one machine.
struct RankPlace {
  int rank = 0, world_size = 1, local_rank = 0, ranks_here = 1;
  std::optional<int> local_world_size;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  std::string meeting_file;  // not there until somebody comes; empty: they meet at the port
  std::string interface;
};

// Throws InputError naming the variable that is missing or wrong.
RankPlace rank_place_from_environment();

struct RankParts {
  std::unique_ptr<CollectiveBackend> backend;
  std::unique_ptr<Trainer> trainer = nullptr;  // where the job trains a model
};
// `place.rank` is the rank to make; called once for each that lives here, from a thread of its own where
// there are several.
using MakeRank = std::function<RankParts(const RankPlace& place, const Job& job)>;

// The whole of main(). Returns its exit code.
int rank_main(int argc, char** argv, const MakeRank& make_rank);

}  // namespace ddpsim::validate
