#pragma once
// Starts the ranks of a real run on this machine and sees them through: when one dies or falls silent, all
// end.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// Where ranks live: network namespaces of a testbed, or plain loopback.
class RankNetwork {
 public:
  virtual ~RankNetwork() = default;
  // Called in the child, before it becomes the rank's program. Must not throw; false when the namespace
  // cannot be entered.
  [[nodiscard]] virtual bool enter(int rank) const = 0;
  [[nodiscard]] virtual std::string address(int rank) const = 0;  // "10.77.0.1"
  [[nodiscard]] virtual std::string interface() const = 0;        // "eth0"
  [[nodiscard]] virtual std::string describe() const = 0;  // for the record: "tbf 1 Gbit/s, burst 20 kB, ..."
};

// No root needed.
class Loopback : public RankNetwork {
 public:
  [[nodiscard]] bool enter(int) const override { return true; }
  [[nodiscard]] std::string address(int) const override { return "127.0.0.1"; }
  [[nodiscard]] std::string interface() const override { return "lo"; }
  [[nodiscard]] std::string describe() const override { return "loopback, not shaped"; }
};

// Which ranks of a run this machine starts, and where they meet.
struct Placement {
  int world_size = 1;
  std::vector<int> ranks;  // to start here, one after another
  std::string master_address;
  int master_port = 0;  // 0: they meet by a file
  // The environment says that somebody else started this process as one rank of many (torchrun, srun,
  // mpirun).
  bool joined = false;
  int local_rank = 0;  // of that one
  // Ranks on this machine; absent: the launcher does not say.
  std::optional<int> local_world_size = std::nullopt;
  // Where ranks that are all on this machine find each other; empty where a launcher named a port.
  std::string meeting_file = {};
};

// Who this process is in a run that somebody else started; none otherwise. The first that applies:
//   torchrun  any of RANK, WORLD_SIZE and LOCAL_RANK is set.
//   Open MPI  any of OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_RANK is set.
//   Slurm     srun started this process as one of several tasks: SLURM_STEP_ID is that of an ordinary step
//             and SLURM_STEP_NUM_TASKS (SLURM_NTASKS where that is not set) is more than 1. In the shells of
//             sbatch and salloc SLURM_PROCID and SLURM_NTASKS may be set as well, but SLURM_STEP_ID is not,
//             or is one of Slurm's reserved ids (0xfffffff0 and above); `srun -n 1 --pty` has one task.
// MASTER_ADDR and MASTER_PORT must be set too; torchrun does. Throws InputError for some of a launcher's
// variables without the others, or ones that contradict each other.
std::optional<Placement> placement_from_environment();

// All ranks here, to meet by a file that is not there yet. So nothing listens for strangers, and no port can
// be taken before rank 0 gets to it.
Placement local_placement(int world_size, const RankNetwork& network, const std::string& meeting_file);

struct LaunchOptions {
  std::string program;  // path of a rank program (validate/harness/rank_program.hpp)
  std::vector<std::string> arguments;
  Placement placement;
  bool one_process = false;  // all ranks of this machine as threads of one process
  Seconds silence{10};       // how long a rank may show no sign of life
  Seconds rendezvous{60};    // and how long it may take to begin
  // Hears again and again what the first rank here does; may be empty.
  std::function<void(const std::string& activity)> watch = {};
};

// Runs the program until every rank started here has ended well. When one ends otherwise, is stopped or falls
// silent, all are ended and the message names the rank that was first to fail and what it was doing. Where
// several fail within a second, that is one that was killed, stopped or silent rather than one that gave up:
// losing a peer is an error, too. Throws InputError or BackendMissing with the rank's own words where it
// ended with their exit codes, RunFailed otherwise.
//
// No process is left: neither a rank nor, when this function ends, the helpers in its process group. Ranks
// die with the thread that calls this (PR_SET_PDEATHSIG), however it ends; their helpers do not.
//
// Ranks write to nowhere: of what a rank writes to standard output and standard error, the last lines go into
// the message. OMP_NUM_THREADS and OPENBLAS_NUM_THREADS are 1 where the user did not set them. A joined run's
// network is not ours: `network` is not entered, and DDPSIM_INTERFACE is left as the user set it.
void run_ranks(const LaunchOptions& options, const RankNetwork& network);

}  // namespace ddpsim::validate
