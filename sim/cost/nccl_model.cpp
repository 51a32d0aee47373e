#include "sim/cost/nccl_model.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collective/link_load.hpp"
#include "sim/cost/communication.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/network_heads.hpp"

namespace ddpsim {
namespace {

std::vector<nccl::Algorithm> algorithms_of(const nccl::CostModel& cost) {
  std::vector<nccl::Algorithm> algorithms;  // candidates stand algorithm by algorithm
  for (const auto& candidate : cost.candidates())
    if (algorithms.empty() || algorithms.back() != candidate.algorithm)
      algorithms.push_back(candidate.algorithm);
  return algorithms;
}

Algorithm schedule_of(nccl::Algorithm algorithm) {
  switch (algorithm) {
    case nccl::Algorithm::ring:
      return Algorithm::ring;
    case nccl::Algorithm::nvls:
      return Algorithm::nvls;
    case nccl::Algorithm::nvls_tree:
      return Algorithm::nvls_tree;
    case nccl::Algorithm::tree:
    case nccl::Algorithm::collnet_direct:
    case nccl::Algorithm::collnet_chain:
    case nccl::Algorithm::pat:
    case nccl::Algorithm::symmetric:
    case nccl::Algorithm::symmetric_multicast:
      break;  // stage_of has its own for trees and refuses CollNet; the others are no choices of the tuner's
              // for an all-reduce
  }
  DDPSIM_CHECK(false, "every algorithm has a schedule");
  return Algorithm::ring;
}

// Without latencies, which are in the time that the model gives.
Stage pipelined(CollectiveSchedule schedule) {
  DDPSIM_CHECK(schedule.stages.size() == 1, "NCCL pipelines all of a collective");
  for (auto& channel : schedule.stages.front().channels)
    for (auto& edge : channel.edges) edge.latency = Seconds(0);
  return std::move(schedule.stages.front());
}

void limit_rings(Stage& stage, BytesPerSecond algbw, ChannelLimits& limits) {
  for (auto& channel : stage.channels) {
    if (channel.pattern != Pattern::ring) continue;
    // Edges of a channel differ in their piece only.
    double through = bytes_through(channel, stage.operation, Edge());
    for (auto& edge : channel.edges)
      edge.route.push_back(limits.add(algbw * (through * edge.piece.count / edge.piece.of)));
  }
}

InputError not_simulated_collnet() {
  return InputError(
      "what a network that reduces carries is not simulated, only timed by itself",
      "remove 'collnet', or whatever else needs the links: other groups, background traffic, another "
      "fidelity than lazy");
}

Stage stage_of(const Cluster& cluster, std::span<const int> gpus, const nccl::Communicator& communicator,
               nccl::Algorithm algorithm) {
  if (is_collnet(algorithm, communicator.nodes)) throw not_simulated_collnet();
  std::vector<std::vector<int>> rings;
  if (!communicator.ring.found) rings = {simple_ring_order(cluster, gpus)};
  if (algorithm == nccl::Algorithm::tree) return pipelined(nccl_tree_schedule(cluster, gpus, rings));
  return pipelined(
      all_reduce_schedule(cluster, gpus, {schedule_of(algorithm), std::nullopt, true, std::move(rings)}));
}

// What the most loaded link takes for a byte of the buffer.
double all_reduce_bound(const Cluster& cluster, std::span<const int> gpus,
                        const nccl::Communicator& communicator, nccl::Algorithm algorithm) {
  if (is_collnet(algorithm, communicator.nodes)) return network_heads(cluster, gpus).seconds_per_byte;
  CollectiveSchedule one{"nccl", Operation::all_reduce, communicator.ranks, {}};
  one.stages.push_back(
      stage_of(cluster, gpus, communicator, algorithm));  // not copied: it has an edge a rank
  return heaviest_link(one, [&](int link) { return cluster.link(link).bandwidth; }).seconds_per_byte;
}

}  // namespace

NcclModel::NcclModel(const Cluster& cluster, std::span<const int> gpus,
                     const nccl::Communicator& communicator, const nccl::Allowed& allowed,
                     const nccl::Calibration& calibration)
    : cost_(communicator, allowed, calibration), peers_(communicator, calibration) {
  algorithms_ = algorithms_of(cost_);
  auto taken = ways(cluster);
  for (auto algorithm : algorithms_)
    link_bounds_.push_back(all_reduce_bound(taken, gpus, communicator, algorithm));
  auto ring = std::find(algorithms_.begin(), algorithms_.end(), nccl::Algorithm::ring);
  ring_bound_ = ring == algorithms_.end()
                    ? all_reduce_bound(taken, gpus, communicator, nccl::Algorithm::ring)
                    : link_bounds_[static_cast<std::size_t>(ring - algorithms_.begin())];
  // Which algorithms are allowed is said of all-reduces.
  for (const auto& [name, operation] : kOperationNames)
    if (!sends_directly(operation) && !has_algorithms(operation))
      others_.try_emplace(operation, communicator,
                          nccl::Allowed{{}, allowed.protocols, allowed.collnet, allowed.symmetric},
                          calibration, nccl::Collective{operation});
}

const nccl::CostModel& NcclModel::cost(Operation operation) const {
  return has_algorithms(operation) ? cost_ : others_.at(operation);
}

double NcclModel::link_bound(Operation operation, std::size_t stage) const {
  if (has_algorithms(operation)) return link_bounds_[stage];
  int ranks = cost_.communicator().ranks;
  return ring_bound_ * ring_steps(operation, ranks) / ring_steps(Operation::all_reduce, ranks);
}

NcclModel::Choice NcclModel::choose(Bytes bytes, Operation operation) const {
  const auto& model = cost(operation);
  auto choice = model.choose(bytes);
  Seconds time = scale_(choice.time, model.time(*choice.candidate, Bytes(0)));
  // Of a symmetric kernel its own times know the links.
  if (nccl::is_symmetric(choice.candidate->algorithm)) return {choice.candidate, time, choice.channels};
  std::size_t stage = 0;
  if (has_algorithms(operation)) {
    auto place = std::find(algorithms_.begin(), algorithms_.end(), choice.candidate->algorithm);
    DDPSIM_CHECK(place != algorithms_.end(), "a schedule for every algorithm that is chosen");
    stage = static_cast<std::size_t>(place - algorithms_.begin());
  }
  Seconds bound(scale_.growing * link_bound(operation, stage) * bytes.value());
  return {choice.candidate, std::max(time, bound), choice.channels, stage};
}

nccl::PeerModel::Choice NcclModel::choose_peers(Operation operation, Bytes bytes,
                                                const nccl::LinkBounds& bounds) const {
  auto choice = peers_.choose(operation, bytes, bounds);
  choice.time = scale_(choice.time, peers_.choose(operation, Bytes(0), bounds).time);
  return choice;
}

NcclModel NcclModel::scaled(const AllReduceScale& scale) const {
  auto model = *this;
  model.scale_ = scale;
  return model;
}

void NcclModel::check_simulated() const {
  if (cost_.symmetric())
    throw InputError("what symmetric kernels do to links that others use is not simulated, only their times",
                     "remove 'symmetric', or whatever else needs the links: other groups, background "
                     "traffic, another fidelity than lazy");
}

CollectiveSchedule NcclModel::schedule(const Cluster& cluster, std::span<const int> gpus,
                                       ChannelLimits& limits) const {
  check_simulated();
  CollectiveSchedule schedule{"nccl", Operation::all_reduce, static_cast<int>(gpus.size()), {}};
  auto taken = ways(cluster);
  for (auto algorithm : algorithms_) {
    auto& stage = schedule.stages.emplace_back(stage_of(taken, gpus, cost_.communicator(), algorithm));
    limit_rings(stage, cost_.bandwidth(algorithm), limits);
  }
  return schedule;
}

Stage NcclModel::stage(const Cluster& cluster, std::span<const int> gpus, Operation operation,
                       ChannelLimits& limits) const {
  check_simulated();
  auto other = others_.find(operation);
  if (other != others_.end())
    for (const auto& candidate : other->second.candidates())
      if (is_collnet(candidate.algorithm, cost_.communicator().nodes)) throw not_simulated_collnet();
  auto stage = pipelined(operation_schedule(ways(cluster), gpus, operation));
  if (other != others_.end()) limit_rings(stage, cost(operation).bandwidth(nccl::Algorithm::ring), limits);
  return stage;
}

bool NcclModel::like(const NcclModel& other) const {
  return cost_.communicator() == other.cost_.communicator() && link_bounds_ == other.link_bounds_;
}

}  // namespace ddpsim
