#include "sim/resolve/doubts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/engine/knobs.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/nccl/calibration.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kSmallExpert = 1024;
constexpr double kMuchAttention = 0.25;  // of a forward pass' operations

// Whose GPUs some software/*.yaml was fitted on.
constexpr std::array<std::string_view, 4> kFittedArchitectures{"volta", "ampere", "hopper", "blackwell"};

// Both 16-bit types have the same rate.
Precision alike(Precision precision) {
  return precision == Precision::float16 ? Precision::bfloat16 : precision;
}

bool is_fitted_type(const Software& software, Precision precision) {
  const auto& types = software.types;
  return types.empty() || std::any_of(types.begin(), types.end(),
                                      [&](Precision one) { return alike(one) == alike(precision); });
}

int tensor_of(const Scenario& scenario) {
  return scenario.parallel ? scenario.parallel->options.degrees.tensor : 1;
}

bool crosses_nodes(const Cluster& cluster, std::span<const int> gpus) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](int gpu) { return cluster.node_of(gpu) != cluster.node_of(gpus.front()); });
}

// What neighbours among the group's GPUs of its first node have between them, the slowest; how many there
// are.
struct InNode {
  int gpus = 1;
  std::optional<Medium> medium = {};  // none: not known, or nobody
};
InNode first_node(const Cluster& cluster, std::span<const int> gpus) {
  InNode node;
  for (std::size_t i = 1; i < gpus.size() && cluster.node_of(gpus[i]) == cluster.node_of(gpus[0]); ++i) {
    ++node.gpus;
    auto route = cluster.find_route(gpus[i - 1], gpus[i]);
    if (!route) continue;
    for (int link : route->links)
      node.medium = std::max(node.medium, std::optional(cluster.cable(link).medium));
  }
  return node;
}

// A calibration of the network that the nodes are joined by, as far as it says which that is.
bool knows_network(const nccl::Calibration& calibration, NetworkClass network) {
  return std::any_of(calibration.entries.begin(), calibration.entries.end(),
                     [](const auto& entry) { return entry.across_nodes; }) &&
         (calibration.network.empty() || calibration.network == name_in(kNetworkClassNames, network));
}

// NVLink switches' class has nodes of up to 8.
bool is_in_rack(const nccl::Communicator& communicator) {
  return communicator.nodes == 1 && communicator.nvlink && communicator.ranks > nccl::kMostGpusOfHost;
}

// Tables of at least as many GPUs of a node: how PCIe is shared changes with their number.
bool knows_node(const nccl::Calibration& calibration, int gpus) {
  auto has_them = [&](const auto& entry) {
    return !entry.fitted_to.empty() && nccl::has_gpus(entry.fitted_to, gpus);
  };
  return std::any_of(calibration.entries.begin(), calibration.entries.end(), has_them) ||
         std::any_of(calibration.node.begin(), calibration.node.end(), has_them);
}

// Whether messages between its nodes go up to switches above the first, where single flows may meet on a
// cable; not where the scenario says how they do.
bool meets_above_leaves(const Cluster& cluster, std::span<const int> gpus) {
  if (&cluster.without_hashing() != &cluster) return false;
  auto is_high = [&](int gpu) {
    auto route = cluster.find_route(gpus.front(), gpu);
    return route && std::ranges::count_if(route->links, [&](int link) {
                      return cluster.cable(link).medium == Medium::network;
                    }) > 2;
  };
  int node = cluster.node_of(gpus.front());
  return std::ranges::any_of(gpus, [&](int gpu) {
    bool is_new = std::exchange(node, cluster.node_of(gpu)) != cluster.node_of(gpu);
    return is_new && is_high(gpu);
  });
}

// Between nodes.
std::string_view class_between(const Topology& topology, const nccl::Calibration* calibration,
                               const nccl::Communicator* communicator, bool above_leaves) {
  bool over_sockets = communicator && communicator->sockets;
  if (!topology.network && !over_sockets) return "links";
  auto network = topology.network.value_or(NetworkClass::ethernet);
  bool is_known = calibration && knows_network(*calibration, network);
  if (over_sockets)
    return is_known ? "table" : topology.nccl->knows_sockets ? "ethernet" : "ethernet_guessed";
  if (communicator && !communicator->direct_nics && !is_known) return "no_gpudirect";
  if (network == NetworkClass::infiniband) return is_known ? "infiniband" : "infiniband_uncalibrated";
  if (is_known) return "table";
  if (network == NetworkClass::roce && !above_leaves) return "roce_leaf";
  return name_in(kNetworkClassNames, network);
}

std::string_view class_of_pcie(const nccl::Pcie& pcie) {
  if (!pcie.through_host()) return "pcie";
  return pcie.is_assumed ? "pcie_host_guessed" : "pcie_host";
}

// With NCCL it knows what its rings use, whatever neighbours by number have between them.
std::string_view class_within(const InNode& node, const nccl::Calibration* calibration,
                              const nccl::Communicator* communicator) {
  if (communicator ? communicator->nvlink : node.medium == Medium::nvlink) return "nvlink";
  if (!communicator && node.medium == Medium::xgmi) return "xgmi";
  if (calibration && knows_node(*calibration, node.gpus)) return "table";
  return communicator && communicator->pcie ? class_of_pcie(*communicator->pcie) : "links";
}

std::string_view class_of(const Topology& topology, const Communication& communication,
                          const CommunicatorAxis& axis) {
  const auto& cluster = *communication.cluster;
  const auto& group = communication.groups[axis.first];
  if (communication.library) return backend_name(communication.library->backend());
  const nccl::Calibration* calibration = nullptr;
  const nccl::Communicator* communicator = nullptr;
  if (!communication.nccl.empty()) {
    const auto& cost = communication.nccl[axis.first]->cost();
    calibration = &cost.calibration();
    communicator = &cost.communicator();
    if (cost.communicator().joins_racks || is_in_rack(cost.communicator())) return "nvl72";
  }
  // Rings across nodes go through each node as well, which may be what holds them up.
  bool is_held_up = communicator && communicator->pcie &&
                    nccl::pcie_busbw(*communicator) == nccl::ring_busbw(*communicator);
  if (crosses_nodes(cluster, group) && !is_held_up)
    return class_between(topology, calibration, communicator, meets_above_leaves(cluster, group));
  return class_within(first_node(cluster, group), calibration, communicator);
}

// Share of a forward pass' operations that attention's kernel has.
double attention_share(const ModelStep& step) {
  auto sequence = step.step.shape.sequence;
  double attention = 0;
  for (const auto& [kind, count] : step.model.kinds())
    attention += static_cast<double>(count) * step.model.attention_operations(kind.attention, sequence) *
                 step.model.unmasked(kind.attention, sequence);
  return attention / (attention + 2 * static_cast<double>(step.model.active_parameters(sequence)));
}

// Whom the host's pace may hold up besides.
std::vector<Doubt> by_shares(std::string_view name, std::string what) {
  return {doubt_of(Subject::compute, name, std::move(what)), doubt_of(Subject::physics, "launches")};
}

}  // namespace

std::vector<Doubt> compute_doubts(const Software& software, const GpuDescription& gpu, Precision precision,
                                  WhoseSoftware whose) {
  bool is_known_gpu = software.is_for_gpu || software.is_for_chip ||
                      std::find(kFittedArchitectures.begin(), kFittedArchitectures.end(), gpu.architecture) !=
                          kFittedArchitectures.end();
  if (!is_known_gpu)
    return by_shares("never", fmt::format("compute (no software was fitted on {})", gpu.name));
  if (!is_fitted_type(software, precision))
    return by_shares("never", fmt::format("compute ({} was not fitted in {})", software.name,
                                          name_in(kPrecisionNames, precision)));
  if (!software.is_for_gpu)
    return by_shares(software.is_for_chip ? "same_chip" : "other_gpu",
                     fmt::format("compute ({} was fitted on {})", software.name, software.fitted_on));
  if (whose == WhoseSoftware::calibrated) return {doubt_of(Subject::compute, "calibrated")};
  if (whose == WhoseSoftware::default_one)
    return by_shares("same_gpu", fmt::format("compute (by {}, which nobody named)", software.name));
  return {doubt_of(Subject::compute, "named", fmt::format("compute by {}", software.name))};
}

std::vector<Doubt> estimated_doubts() {
  return {doubt_of(Subject::compute, "never", "compute, estimated of a list of layers")};
}

std::vector<Doubt> trace_doubts(const LayerTrace& trace, bool is_rescaled, bool is_of_other_gpu) {
  if (is_rescaled) return {doubt_of(Subject::compute, "other_gpu", "compute, rescaled from another GPU")};
  bool has_totals = trace.metadata.totals.has_value();
  if (trace.metadata.synthetic && !has_totals)
    return {doubt_of(Subject::compute, "never", "compute, estimated")};
  if (is_of_other_gpu) return {doubt_of(Subject::compute, "never", "compute, recorded on another GPU")};
  return {doubt_of(Subject::compute, "measured", has_totals ? "compute, of passes that were measured" : "")};
}

std::optional<Note> software_scope_note(const Scenario& scenario) {
  if (!scenario.is_timed_by_law()) return std::nullopt;
  const auto& software = scenario.software();
  const auto& [gpus, tensor] = software.scope;
  int mine = tensor_of(scenario);
  std::vector<std::string> left;
  if (tensor > 0 && mine > tensor)
    left.push_back(
        tensor == 1
            ? fmt::format("without tensor parallelism, and this job has {} GPUs to a group", mine)
            : fmt::format("of tensor-parallel groups of up to {} GPUs, and these have {}", tensor, mine));
  if (gpus > 0 && scenario.world_size > gpus)
    left.push_back(fmt::format("of up to {} GPUs, and these are {}", gpus, scenario.world_size));
  if (left.empty()) return std::nullopt;
  return Note{"software-scope", fmt::format("software {} was fitted and judged on steps {}", software.name,
                                            fmt::join(left, "; on steps "))};
}

std::optional<Note> roce_note(std::span<const Doubt> doubts) {
  if (std::ranges::none_of(doubts, [](const Doubt& one) { return one.of->name == "roce"; }))
    return std::nullopt;
  return Note{"roce-unmeasured",
              "messages go up from RoCE's leaves, where flows that a hash puts on one cable share it: jobs "
              "kept 0.4 to 0.95 of their NICs there (NVIDIA/nccl-tests issue 169, NVIDIA/nccl issues 495 and "
              "1368), and here flows spread evenly. cluster.hashing: {seed: 1} tries a hash; calibrate with "
              "nccl-tests' tables ('ddpsim calibrate')"};
}

namespace {

// Steps of another GPU, or in another type, tell nothing of this compute.
void drop_measured(Scenario& scenario) {
  if (!scenario.evidence || scenario.evidence->calibrated.empty()) return;
  auto left = *scenario.evidence;
  const auto* compute = find_evidence_class(Subject::compute, std::exchange(left.calibrated, {}));
  std::erase_if(left.measured, [&](const Observation& measured) { return measured.moves_with(*compute); });
  weigh(left);
  scenario.evidence = std::make_shared<const Evidence>(std::move(left));
}

// It is known as before, but that its steps were measured.
void take_calibrated(const Scenario& scenario, Doubt& doubt) {
  if (doubt.of->of != Subject::compute || doubt.of->name != "calibrated" || !scenario.evidence) return;
  const auto& before = scenario.evidence->calibrated;
  if (!before.empty()) doubt = doubt_of(Subject::compute, before, std::string(doubt.of->what));
}

// Compute by named software, of GPUs that share a model: beyond what the software was judged with its shares
// are like another software's.
void judge_split(const Scenario& scenario, Doubt& doubt) {
  if (doubt.of->of != Subject::compute || doubt.of->moves != Moves::step || !scenario.parallel) return;
  const auto& software = scenario.model_step->software;
  const auto& degrees = scenario.parallel->options.degrees;
  if (software.scope.tensor > 0 && degrees.tensor > software.scope.tensor)
    doubt = doubt_of(Subject::compute, "same_gpu",
                     fmt::format("tensor parallelism beyond what {} was judged with", software.name));
  else if (doubt.of->name == "named" && degrees.tensor * degrees.pipeline > 1)
    doubt = doubt_of(Subject::compute, "named_split",
                     fmt::format("compute by {}, of GPUs that share a model", software.name));
}

// Steps that it was fitted to leave draws of it.
bool is_weighed_interference(const Scenario& scenario) {
  if (!scenario.physics.is_calibrated || !scenario.evidence) return false;
  const auto& interference = *find_evidence_class(Subject::physics, "interference");
  return std::ranges::any_of(scenario.evidence->measured,
                             [&](const Observation& one) { return one.moves_with(interference); });
}

}  // namespace

void add_step_doubts(Scenario& scenario) {
  auto& doubts = scenario.doubts;
  if (const auto& hooks = scenario.physics.overheads.hooks;
      hooks != Hooks() && hooks == scenario.strategy->hooks())
    doubts.push_back(doubt_of(Subject::physics, "hooks"));
  const auto& range = scenario.physics.range;
  if ((range && range->least.interference != range->most.interference) || is_weighed_interference(scenario))
    doubts.push_back(doubt_of(Subject::physics, "interference"));
  if (range && range->least.spread != range->most.spread)
    doubts.push_back(doubt_of(Subject::physics, "spread"));
  if (scenario.measured_table) {
    doubts.push_back(doubt_of(Subject::network, "table"));
    doubts.back().axes = {"data"};
  }
  if (!scenario.is_timed_by_law()) return;
  if (std::ranges::none_of(doubts, [](const Doubt& one) { return one.of->name == "calibrated"; }))
    drop_measured(scenario);
  for (auto& doubt : doubts) {
    take_calibrated(scenario, doubt);
    judge_split(scenario, doubt);
  }
  if (!scenario.model_step) return;
  const auto& step = *scenario.model_step;
  if (step.model.has_experts())
    doubts.push_back(
        doubt_of(Subject::step, step.model.experts.ffn < kSmallExpert ? "small_experts" : "experts"));
  if (step.software.flash && !step.software.is_kernel_for_gpu && attention_share(step) > kMuchAttention)
    doubts.push_back(doubt_of(Subject::step, "attention"));
  if (!scenario.parallel) return;
  if (scenario.parallel->options.degrees.context > 1)
    doubts.push_back(doubt_of(Subject::step, step.software.repeats_keys ? "context_pytorch" : "context"));
  if (tensor_of(scenario) > 1 && scenario.parallel->tensor.overlap == TensorOverlap::pipelined)
    doubts.push_back(doubt_of(Subject::step, "async_tp"));
}

void take_found(Scenario& scenario) {
  if (!scenario.evidence) return;
  Knobs knobs;
  for (auto& doubt : scenario.doubts) {
    auto found = scenario.evidence->found.find(name_of(*doubt.of));
    if (found == scenario.evidence->found.end()) continue;
    for (const auto& axis : doubt.axes) knobs.slower[axis] = found->second;
    doubt.what += fmt::format(", {:.2g} times as long by measured steps", found->second);
  }
  turn(scenario, knobs);
}

std::vector<Doubt> network_doubts(const Topology& topology, const Communication& communication) {
  std::vector<Doubt> doubts;
  // Groups of an axis are alike.
  for (const auto& axis : communication.axes) {
    if (axis.first >= communication.groups.size() || communication.groups[axis.first].size() < 2) continue;
    auto one = doubt_of(Subject::network, class_of(topology, communication, axis));
    auto same = std::ranges::find(doubts, one.of, &Doubt::of);
    if (same == doubts.end()) same = doubts.insert(same, std::move(one));
    if (!std::ranges::count(same->axes, axis.name)) same->axes.push_back(axis.name);
  }
  for (auto& doubt : doubts) std::ranges::sort(doubt.axes);
  return doubts;
}

void add_doubts(std::vector<Doubt> more, std::vector<Doubt>& doubts) {
  for (auto& one : more) {
    auto same = std::ranges::find(doubts, one.of, &Doubt::of);
    if (same == doubts.end()) {
      doubts.push_back(std::move(one));
      continue;
    }
    std::vector<std::string> axes;
    std::ranges::sort(one.axes);
    std::ranges::set_union(same->axes, one.axes, std::back_inserter(axes));
    same->axes = std::move(axes);
  }
}

}  // namespace ddpsim
