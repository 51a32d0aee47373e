#include "sim/study/collective_times.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/usual_library.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostKnown = 10'000;  // sizes of an operation

std::unique_ptr<CollectiveCost> make_cost(const std::string& name, const std::vector<int>& gpus,
                                          std::optional<Backend> backend) {
  auto sorted = gpus;
  std::ranges::sort(sorted);
  if (gpus.size() < 2) throw InputError("a collective needs two GPUs", "use more ranks");
  if (sorted.front() < 0 || std::ranges::adjacent_find(sorted) != sorted.end())
    throw InputError("a group is of different GPUs, which count from 0", "name each GPU once");
  auto topology = read_topology(preset_path(PresetKind::topologies, "topology", name));
  auto communication = std::make_shared<Communication>();
  communication->cluster = topology->build(sorted.back() + 1);
  communication->groups = {gpus};
  communication->labels = {0};
  const auto& cluster = *communication->cluster;
  if (backend) communication->library = usual_library(*backend, *topology, communication->cluster, gpus);
  if (communication->library) {
    // It has said all.
  } else if (topology->nccl) {
    nccl::Calibration calibration;
    if (topology->nccl->calibration) calibration = read_calibration(*topology->nccl->calibration);
    communication->nccl.push_back(std::make_shared<const NcclModel>(
        cluster, gpus, nccl_communicator(cluster, gpus, *topology->nccl), nccl::Allowed{}, calibration));
  } else {
    fold_traffic(*communication);
  }
  return std::move(group_costs(std::move(communication)).front().cost);
}

}  // namespace

Seconds CollectiveTimes::operator()(const std::string& topology, const std::vector<int>& gpus,
                                    Operation operation, Bytes bytes, std::optional<Backend> backend) {
  if (is_pair(operation) && gpus.size() > 2)
    return (*this)(topology, {gpus.front(), gpus.back()}, operation, bytes, backend);
  auto& known = known_[backend][topology][gpus];
  if (!known.cost) known.cost = make_cost(topology, gpus, backend);
  auto& times = known.times[operation];
  if (auto found = times.find(bytes.value()); found != times.end()) return found->second;
  if (times.size() == kMostKnown) times.clear();
  return times[bytes.value()] = known.cost->alone(operation, bytes).idle;
}

}  // namespace ddpsim
