#include "sim/cost/operation_costs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include "sim/collective/link_load.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/cost/communication.hpp"
#include "sim/cost/direct_sends.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_ways.hpp"
#include "sim/nccl/forced.hpp"

namespace ddpsim {
namespace {

struct Candidate {
  Operation operation;
  std::string algorithm;
  bool has_channels;
  std::function<CollectiveSchedule()> schedule;
};

std::vector<Candidate> candidates_of(const Cluster& cluster, const std::vector<int>& gpus,
                                     Operation operation) {
  std::vector<Candidate> candidates;
  auto add = [&](Algorithm algorithm, std::optional<int> channels) {
    candidates.push_back({operation, std::string(algorithm_name(algorithm)), algorithm == Algorithm::ring,
                          [&cluster, &gpus, algorithm, channels] {
                            return all_reduce_schedule(cluster, gpus, {algorithm, channels, true});
                          }});
  };
  if (has_algorithms(operation)) {
    add(Algorithm::ring, 1);
    for (const auto& [name, algorithm] : kAlgorithmNames) add(algorithm, std::nullopt);
    return candidates;
  }
  candidates.push_back(
      {operation, is_chain(operation) ? "chain" : "ring", true,
       [&cluster, &gpus, operation] { return operation_schedule(cluster, gpus, operation); }});
  return candidates;
}

std::vector<OperationCost> direct_costs(const Cluster& cluster, const std::vector<int>& gpus,
                                        Operation operation, std::span<const Bytes> sizes) {
  std::vector<int> ends{gpus.front(), gpus.back()};
  std::vector<OperationCost> costs;
  std::optional<DirectSends> sends;
  try {
    sends.emplace(cluster, is_pair(operation) ? ends : gpus, operation);
  } catch (const InputError& error) {
    return {{operation, sizes.front(), "direct", "", 1, {}, error.message(), "links", ""}};
  }
  for (auto bytes : sizes)
    costs.push_back({operation, bytes, "direct", "", 1, sends->time(bytes), "", "links", ""});
  return costs;
}

std::vector<OperationCost> costs_of(const Cluster& cluster, const Candidate& candidate,
                                    std::span<const Bytes> sizes) {
  std::vector<OperationCost> costs;
  try {
    auto schedule = candidate.schedule();
    int channels = candidate.has_channels ? static_cast<int>(schedule.stages.front().channels.size()) : 1;
    Traffic traffic{{{&schedule, 0}}, {}, [&](int link) { return cluster.link(link).bandwidth; }};
    auto plan = fold(traffic);
    CollectiveTime time(plan.groups.front().plan, plan.links);
    for (auto bytes : sizes)
      costs.push_back(
          {candidate.operation, bytes, candidate.algorithm, "", channels, time(bytes), "", "links", ""});
  } catch (const InputError& error) {
    costs.push_back(
        {candidate.operation, sizes.front(), candidate.algorithm, "", 1, {}, error.message(), "links", ""});
  }
  return costs;
}

// A communicator's costs under NCCL.
class NcclCosts {
 public:
  NcclCosts(const Cluster& cluster, std::vector<int> gpus, const NcclPlatform& platform,
            const nccl::Allowed& allowed, const nccl::Calibration& calibration, bool only_symmetric,
            int of_node)
      : cluster_(cluster),
        gpus_(std::move(gpus)),
        allowed_(allowed),
        calibration_(calibration),
        communicator_(
            nccl::with_measured_pcie(nccl_communicator(cluster, gpus_, platform, of_node), calibration)),
        peers_(communicator_, calibration) {
    if (!allowed_.symmetric) return;
    try {
      nccl::require_symmetric(communicator_, allowed_);
    } catch (const InputError& error) {
      // Operations that have such kernels cannot be had as they were asked for; the others never have them.
      if (only_symmetric) throw;
      no_symmetric_ = error.message();
      allowed_.symmetric = false;
    }
  }

  [[nodiscard]] OperationCost of(Operation operation, Bytes bytes) {
    OperationCost cost{operation, bytes, "", "", 1, {}, "", "", ""};
    if (sends_directly(operation))
      directly(cost);
    else
      in_rounds(cost);
    return cost;
  }

 private:
  void directly(OperationCost& cost) {
    auto& sends = sends_[cost.operation];
    try {
      if (!sends) sends.emplace(NcclWays(cluster_, communicator_), gpus_, cost.operation);
    } catch (const InputError& error) {
      cost.algorithm = "direct";
      cost.why_not = error.message();
      return;
    }
    auto choice = peers_.choose(cost.operation, cost.bytes, sends->bounds());
    cost.algorithm = "direct";
    cost.protocol = nccl::name(choice.plan.protocol);
    cost.channels = choice.plan.channels;
    cost.time = choice.time;
    set_source(cost, choice.from);
  }

  void set_source(OperationCost& cost, nccl::TimesFrom from) const {
    cost.source = nccl::kind_name(from, communicator_);
    cost.note = nccl::source_text(from, communicator_);
  }

  void in_rounds(OperationCost& cost) {
    if (auto refusal = refusal_of(cost.operation)) {
      if (!allowed_.algorithms.empty()) cost.algorithm = nccl::name(allowed_.algorithms.front());
      if (!allowed_.protocols.empty()) cost.protocol = nccl::name(allowed_.protocols.front());
      cost.why_not = refusal->message;
      return;
    }
    if (!no_symmetric_.empty() && nccl::has_symmetric(cost.operation)) {
      cost.algorithm = "symmetric";
      cost.why_not = no_symmetric_;
      return;
    }
    if (!allowed_.algorithms.empty() && !has_algorithms(cost.operation)) return forced(cost);
    if (!model_) model_.emplace(cluster_, gpus_, communicator_, allowed_, calibration_);
    auto choice = model_->choose(cost.bytes, cost.operation);
    const auto& model = model_->cost(cost.operation);
    bool by_links = choice.time > model.time(*choice.candidate, cost.bytes);
    auto from = by_links ? nccl::TimesFrom::links : model.times_from(*choice.candidate, cost.bytes);
    cost.algorithm = nccl::name(choice.candidate->algorithm);
    cost.protocol = nccl::name(choice.candidate->protocol);
    cost.channels = choice.channels;
    cost.time = choice.time;
    set_source(cost, from);
    if (by_links) cost.note = "what the links need";
  }

  [[nodiscard]] std::optional<nccl::Refusal> refusal_of(Operation operation) const {
    if (!nccl::forces(allowed_)) return std::nullopt;
    return nccl::refusal_of(communicator_, allowed_, operation);
  }

  // In NcclModel an algorithm is said of all-reduces; here of any operation. What the links need is what they
  // need of a ring, as there.
  void forced(OperationCost& cost) {
    auto known = forced_.find(cost.operation);
    if (known == forced_.end()) {
      NcclWays ways(cluster_, communicator_);
      auto schedule = operation_schedule(ways, gpus_, cost.operation);
      auto bound = heaviest_link(schedule, [&](int link) { return ways.link(link).bandwidth; });
      nccl::CostModel model(communicator_, allowed_, calibration_, {cost.operation});
      known = forced_.try_emplace(cost.operation, Forced{std::move(model), bound.seconds_per_byte}).first;
    }
    const auto& [model, seconds_per_byte] = known->second;
    auto choice = model.choose(cost.bytes);
    Seconds bound(seconds_per_byte * cost.bytes.value());
    bool by_links = bound > choice.time;
    cost.algorithm = nccl::name(choice.candidate->algorithm);
    cost.protocol = nccl::name(choice.candidate->protocol);
    cost.channels = choice.channels;
    cost.time = std::max(choice.time, bound);
    set_source(cost, by_links ? nccl::TimesFrom::links : model.times_from(*choice.candidate, cost.bytes));
    if (by_links) cost.note = "what the links need";
  }

  struct Forced {
    nccl::CostModel model;
    double seconds_per_byte;
  };

  const Cluster& cluster_;
  std::vector<int> gpus_;
  nccl::Allowed allowed_;
  const nccl::Calibration& calibration_;
  nccl::Communicator communicator_;
  nccl::PeerModel peers_;
  std::string no_symmetric_;        // why there are no symmetric kernels where they are wanted
  std::optional<NcclModel> model_;  // looks up the schedule of every algorithm
  std::map<Operation, Forced> forced_;
  std::map<Operation, std::optional<DirectSends>> sends_;
};

// Of what is forced on NCCL at least one operation has to be capable.
void check_forced(const nccl::Communicator& communicator, const nccl::Allowed& allowed,
                  std::span<const Operation> operations) {
  std::optional<nccl::Refusal> first;
  bool is_tuned = false;
  for (auto operation : operations) {
    if (sends_directly(operation)) continue;
    is_tuned = true;
    auto refusal = nccl::refusal_of(communicator, allowed, operation);
    if (!refusal) return;
    if (!first || first->is_of_operation) first = std::move(refusal);
  }
  if (!is_tuned)
    throw InputError("NCCL chooses neither algorithm nor protocol for these: every rank sends to its peers",
                     "leave --algorithm and --protocol out, or name an operation that NCCL tunes");
  throw InputError(first->message, first->hint);
}

}  // namespace

std::vector<OperationCost> nccl_costs(const Cluster& cluster, const std::vector<int>& gpus,
                                      const NcclPlatform& platform, const nccl::Allowed& allowed,
                                      const nccl::Calibration& calibration,
                                      std::span<const Operation> operations, std::span<const Bytes> sizes) {
  bool only_symmetric = std::all_of(operations.begin(), operations.end(), nccl::has_symmetric);
  std::optional<NcclCosts> all, ends;
  std::vector<OperationCost> costs;
  int of_node = 0;
  for (const auto& ranks : ranks_by_node(cluster, gpus))
    of_node = std::max(of_node, static_cast<int>(ranks.size()));
  if (nccl::forces(allowed)) check_forced(nccl_communicator(cluster, gpus, platform), allowed, operations);
  for (auto operation : operations) {
    auto& model = is_pair(operation) ? ends : all;
    if (!model)
      model.emplace(cluster, is_pair(operation) ? std::vector{gpus.front(), gpus.back()} : gpus, platform,
                    allowed, calibration, only_symmetric, of_node);
    for (auto bytes : sizes) costs.push_back(model->of(operation, bytes));
  }
  return costs;
}

std::vector<OperationCost> library_costs(const LibraryModel& model, std::span<const Operation> operations,
                                         std::span<const Bytes> sizes) {
  std::vector<OperationCost> costs;
  for (auto operation : operations)
    for (auto bytes : sizes) {
      auto& cost = costs.emplace_back(OperationCost{operation, bytes, "", "", 1, {}, "", "", ""});
      try {
        auto way = model.way(bytes, operation);
        cost.algorithm = std::move(way.algorithm);
        cost.source = std::move(way.source);
        cost.note = std::move(way.note);
        cost.time = model.time(bytes, operation);
      } catch (const InputError& error) {
        cost.why_not = error.message();
      }
    }
  return costs;
}

std::vector<OperationCost> plain_costs(const Cluster& cluster, const std::vector<int>& gpus,
                                       std::span<const Operation> operations, std::span<const Bytes> sizes) {
  std::vector<OperationCost> costs;
  auto add = [&costs](std::vector<OperationCost> more) {
    // The search may find that one ring is all there is.
    if (!costs.empty() && costs.back().algorithm == more.front().algorithm &&
        costs.back().channels == more.front().channels && costs.back().operation == more.front().operation)
      return;
    for (auto& cost : more) costs.push_back(std::move(cost));
  };
  for (auto operation : operations) {
    if (sends_directly(operation)) {
      add(direct_costs(cluster, gpus, operation, sizes));
    } else {
      for (const auto& candidate : candidates_of(cluster, gpus, operation))
        add(costs_of(cluster, candidate, sizes));
    }
  }
  return costs;
}

}  // namespace ddpsim
