#include "validate/gloo/gloo_group.hpp"

#include "traces/capture/device_description.hpp"
#include "validate/gloo/processor_share.hpp"
#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <sys/utsname.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/version.h>

#include "sim/base/one_line.hpp"
#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

std::chrono::milliseconds milliseconds(Seconds time) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * time.value()));
}

// LibTorch 1.13's TCPStore listens at every address of the machine, at a port that is to be free. Nothing but
// a run on several machines needs that.
c10::intrusive_ptr<c10d::Store> meet(const RankPlace& place, std::chrono::milliseconds timeout) {
  if (!place.meeting_file.empty()) {
    auto store = c10::make_intrusive<c10d::FileStore>(place.meeting_file, place.world_size);
    store->setTimeout(timeout);
    return store;
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.master_port);
  options.isServer = place.rank == 0;
  options.numWorkers = static_cast<std::size_t>(place.world_size);
  options.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(place.master_address, options);
}

std::string kernel() {
  utsname name{};
  return uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
}

}  // namespace

GlooGroup join_gloo_group(const RankPlace& place, const Job& job) {
  at::set_num_threads(1);
  Environment environment{
      {"processor", describe_host().name}, {"torch", TORCH_VERSION}, {"kernel", kernel()}};
  if (place.local_world_size)
    environment.push_back(take_cores(place.local_rank, *place.local_world_size));
  else
    environment.emplace_back("cores", "as the launcher left them");
  try {
    // Its threads keep a normal priority: they spin once rank 0 has left.
    auto store = meet(place, milliseconds(job.timeout));
    bool prioritised = job.real_time && take_priority(Priority::communication);  // Gloo's threads inherit it
    auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(job.timeout));
    options->devices.push_back(place.interface.empty()
                                   ? c10d::ProcessGroupGloo::createDefaultDevice()
                                   : c10d::ProcessGroupGloo::createDeviceForInterface(place.interface));
    options->threads = job.collective_workers;
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world_size, options);
    prioritised = prioritised && take_priority(Priority::compute);
    environment.emplace_back("priority", prioritised ? "real-time: communication above compute" : "normal");
    environment.emplace_back("interface", place.interface.empty() ? "of the host's name" : place.interface);
    return {group, environment, prioritised};
  } catch (const std::exception& error) {
    // What c10 adds, from "Exception raised from" on, is a backtrace.
    std::string why = error.what();
    why = one_line(why.substr(0, why.find("Exception raised from")));
    bool by_file = !place.meeting_file.empty();
    throw RunFailed(fmt::format(
        "rank {} of {} cannot join the others at {}: {}\n"
        "hint: are all ranks started{}{}?",
        place.rank, place.world_size,
        by_file ? place.meeting_file : fmt::format("{}:{}", place.master_address, place.master_port), why,
        by_file ? "" : ", with the same MASTER_ADDR and MASTER_PORT",
        place.interface.empty() ? "" : fmt::format(", and is {} an interface here", place.interface)));
  }
}

}  // namespace ddpsim::validate
