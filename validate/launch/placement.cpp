#include <array>
#include <charconv>
#include <numeric>

#include "validate/harness/environment_variable.hpp"
#include "validate/launch/launcher.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

// A launcher of many processes, and how it tells each who it is.
struct Dialect {
  const char *launcher, *rank, *world_size, *local_rank;
  const char* local_world_size;  // null: it does not
  [[nodiscard]] std::array<const char*, 3> names() const { return {rank, world_size, local_rank}; }
};
constexpr Dialect kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Dialect kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};

bool speaks(const Dialect& dialect) {
  for (const char* name : dialect.names())
    if (environment_variable(name)) return true;
  return false;
}

// Of an srun task; nothing in any other process of a job.
std::optional<Dialect> slurm_task() {
  auto step = environment_variable("SLURM_STEP_ID");
  if (!step) return std::nullopt;
  // slurm/slurm.h: SLURM_BATCH_SCRIPT, SLURM_INTERACTIVE_STEP and their like are the last of 32 bits.
  constexpr std::uint32_t kFirstReserved = 0xfffffff0;
  std::uint32_t id = 0;
  auto [rest, error] = std::from_chars(step->data(), step->data() + step->size(), id);
  if (error != std::errc() || id >= kFirstReserved) return std::nullopt;
  const char* tasks = environment_variable("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  if (environment_variable(tasks).value_or("1") == "1") return std::nullopt;
  return Dialect{"Slurm", "SLURM_PROCID", tasks, "SLURM_LOCALID", nullptr};
}

Placement placed_by(const Dialect& dialect) {
  const auto hint = fmt::format("{} sets {}; unset them to run all ranks on this machine", dialect.launcher,
                                fmt::join(dialect.names(), ", "));
  const std::string meeting =
      "export MASTER_ADDR, the address of rank 0's machine, and MASTER_PORT, a free port there, to all ranks";
  Placement placement;
  placement.joined = true;
  placement.world_size = required_number(dialect.world_size, 1, kLargestWorldSize, hint);
  placement.ranks = {required_number(dialect.rank, 0, placement.world_size - 1, hint)};
  placement.local_rank = required_number(dialect.local_rank, 0, placement.world_size - 1, hint);
  if (dialect.local_world_size && environment_variable(dialect.local_world_size))
    placement.local_world_size =
        required_number(dialect.local_world_size, placement.local_rank + 1, placement.world_size, hint);
  placement.master_address = required_variable("MASTER_ADDR", meeting);
  placement.master_port = required_number("MASTER_PORT", 1, 65535, meeting);
  return placement;
}

}  // namespace

std::optional<Placement> placement_from_environment() {
  if (speaks(kTorchrun)) return placed_by(kTorchrun);
  if (speaks(kOpenMpi)) return placed_by(kOpenMpi);
  if (auto slurm = slurm_task()) return placed_by(*slurm);
  return std::nullopt;
}

Placement local_placement(int world_size, const RankNetwork& network, const std::string& meeting_file) {
  DDPSIM_CHECK(world_size >= 1, "a run has ranks");
  Placement placement;
  placement.world_size = world_size;
  placement.local_world_size = world_size;
  placement.ranks.resize(static_cast<std::size_t>(world_size));
  std::iota(placement.ranks.begin(), placement.ranks.end(), 0);
  placement.master_address = network.address(0);
  placement.meeting_file = meeting_file;
  return placement;
}

}  // namespace ddpsim::validate
