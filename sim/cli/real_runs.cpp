#include "sim/cli/real_runs.hpp"

#include <cstdlib>

#include "validate/harness/job_json.hpp"
#include "validate/testbed/testbed.hpp"
#include <fmt/core.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/source.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/sibling_program.hpp"
#include "sim/cli/temporary_folder.hpp"

namespace ddpsim::cli {
namespace {

std::string program_of(Backend backend) {
  if (backend == Backend::gloo)
    return sibling_program(
        "ddpsim-validate-gloo",
        "a run with Gloo needs LibTorch, and this ddpsim was built without it\n"
        "hint: 'scripts/run validate ...' installs Debian's LibTorch and builds what is missing; in a build "
        "of your own, install libtorch-dev and libgloo-dev and configure with -DDDPSIM_WITH_LIBTORCH=ON");
  return sibling_program("ddpsim-validate-nccl",
                         "a run with NCCL needs NVIDIA GPUs, and this ddpsim was built without CUDA and "
                         "NCCL: when it was configured, no CUDA toolkit (nvcc), nccl.h or libnccl was found\n"
                         "hint: install them, name their folders with CUDAToolkit_ROOT and NCCL_ROOT where "
                         "they are not in the usual place, "
                         "and configure with -DDDPSIM_WITH_NCCL=ON; or use --backend gloo");
}

std::unique_ptr<validate::RankNetwork> make_network(const ValidationSettings& settings, int world_size,
                                                    bool joined, bool quiet) {
  auto loopback = std::make_unique<validate::Loopback>();
  if (!settings.testbed_rate) return loopback;
  auto note = [&](std::string_view why) {
    if (!quiet) print_stderr("note: no testbed: {}\n", why);
  };
  if (settings.backend == Backend::nccl) {
    note("it shapes the links of Gloo, and NCCL has those of its GPUs");
    return loopback;
  }
  if (joined) {
    note("the ranks were started by somebody else, and use the network there is");
    return loopback;
  }
  try {
    return validate::make_testbed(world_size, {*settings.testbed_rate, settings.testbed_delay});
  } catch (const BackendMissing& missing) {
    note(fmt::format(
        "{}\nnote: the ranks talk over loopback instead, which is as fast as this machine's memory",
        missing.what()));
    return loopback;
  }
}

// "2 of 6: ddp.bucket_cap = 25MiB, repetition 3"
std::string progress_of(const validate::Job& job, const std::string& activity) {
  for (std::size_t i = 0; i < job.steps.size(); ++i)
    if (activity.starts_with(job.steps[i].name + ", "))
      return fmt::format("{} of {}: {}", i + 1, job.steps.size(), activity);
  return activity;
}

}  // namespace

RealRuns::RealRuns(const ValidationSettings& settings, int world_size, bool one_process, bool quiet)
    : backend_(settings.backend),
      program_(program_of(settings.backend)),
      world_size_(world_size),
      one_process_(one_process),
      quiet_(quiet),
      joined_(validate::placement_from_environment()) {
  if (one_process && settings.backend != Backend::nccl)
    throw InputError("--one-process is for the GPUs of NCCL", "remove it, or use --backend nccl");
  if (joined_ && joined_->world_size != world_size)
    throw InputError(fmt::format("this process is one of {} ranks, and the scenario has {}",
                                 joined_->world_size, world_size),
                     fmt::format("--ranks {}", joined_->world_size));
  if (!joined_ && world_size > validate::kMostTestbedRanks)
    throw InputError(
        fmt::format("{} ranks are too many for one machine", world_size),
        fmt::format("--ranks N, at most {}; or start them on several machines with torchrun, srun or mpirun",
                    validate::kMostTestbedRanks));
  network_ = make_network(settings, world_size, joined_.has_value(), quiet);
  shaped_ = dynamic_cast<const validate::Loopback*>(network_.get()) == nullptr;
}

std::optional<validate::RunResult> RealRuns::run(const validate::Job& job) {
  TemporaryFolder folder;
  auto here = job;
  here.real_time = shaped_;
  auto job_file = folder.file("job.json"), result_file = folder.file("result.json");
  write_whole_file(job_file, validate::write_job(here));
  validate::LaunchOptions launch;
  launch.program = program_;
  launch.arguments = {job_file, result_file};
  launch.one_process = one_process_;
  launch.placement =
      joined_ ? *joined_ : validate::local_placement(world_size_, *network_, folder.file("meeting"));
  ++runs_;
  // torchrun itself listens on MASTER_PORT.
  if (joined_)
    launch.placement.master_port = (launch.placement.master_port - 1024 + runs_) % (65536 - 1024) + 1024;
  ProgressLine progress(quiet_);
  launch.watch = [&](const std::string& activity) { progress.show(progress_of(job, activity)); };
  validate::run_ranks(launch, *network_);
  progress.clear();
  if (launch.placement.ranks.front() != 0) return std::nullopt;
  auto result = validate::read_run_result(result_file);
  result.environment.emplace_back("network", network());
  return result;
}

std::string RealRuns::network() const {
  bool own = joined_ || backend_ == Backend::nccl;
  return own ? "the machine's own links" : network_->describe();
}

std::string RealRuns::describe() const {
  bool shares_gpu = backend_ == Backend::nccl && std::getenv("DDPSIM_SHARE_GPU");
  return fmt::format("{}, {} ranks, {}{}", backend_name(backend_), world_size_, network(),
                     shares_gpu ? ", all ranks on one GPU (DDPSIM_SHARE_GPU): no times of a cluster" : "");
}

}  // namespace ddpsim::cli
