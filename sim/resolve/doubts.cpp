#include "sim/resolve/doubts.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/nccl/calibration.hpp"

namespace ddpsim {
namespace {

using Of = Doubt::Of;

// Where each is from: docs/model.md, "What the range holds".
constexpr double kOtherGpu = 1.25, kNeverFitted = 1.4, kTensorBeyond = 1.1, kExperts = 1.5,
                 kLongContext = 1.3;
constexpr double kPcie = 2.5, kEthernet = 2, kRoce = 1.35, kEfa = 1.35, kSlingshot = 1.35;
constexpr double kRacks = 1.3, kRack = 1.4, kGloo = 1.35;
constexpr std::int64_t kLongSequence = 65536;
// Other steps of a study after a calibration to one of them (docs/accuracy.md, "Calibrated to one step").
constexpr double kOneStepError = 0.042;

// Whose GPUs some software/*.yaml was fitted on.
constexpr std::array<std::string_view, 3> kFittedArchitectures{"ampere", "hopper", "blackwell"};

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

struct NetworkDoubt {
  NetworkClass network;
  double factor;
  std::string_view what;
};
constexpr std::array<NetworkDoubt, 4> kNetworks{{{NetworkClass::ethernet, kEthernet, "Ethernet"},
                                                 {NetworkClass::roce, kRoce, "RoCE"},
                                                 {NetworkClass::efa, kEfa, "EFA without others' traffic"},
                                                 {NetworkClass::slingshot, kSlingshot, "Slingshot"}}};

bool crosses_nodes(const Cluster& cluster, std::span<const int> gpus) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](int gpu) { return cluster.node_of(gpu) != cluster.node_of(gpus.front()); });
}

Of of_axis(const CommunicatorAxis& axis) {
  if (axis.name == "tensor") return Of::tensor;
  if (axis.name == "context") return Of::context;
  return axis.name == "expert" || axis.name == "expert-tensor" ? Of::expert : Of::data;
}

// Whether neighbours among the group's GPUs of its first node have nothing faster than PCIe between them; how
// many there are.
struct InNode {
  int gpus = 0;
  bool over_pcie = false;
};
InNode first_node(const Cluster& cluster, std::span<const int> gpus) {
  InNode node{1};
  for (std::size_t i = 1; i < gpus.size() && cluster.node_of(gpus[i]) == cluster.node_of(gpus[0]); ++i) {
    ++node.gpus;
    auto route = cluster.find_route(gpus[i - 1], gpus[i]);
    node.over_pcie =
        node.over_pcie || (route && std::any_of(route->links.begin(), route->links.end(), [&](int link) {
                             return cluster.cable(link).medium == Medium::pcie;
                           }));
  }
  return node;
}

// A calibration of the network that the nodes are joined by, as far as it says which that is.
bool knows_network(const nccl::Calibration& calibration, NetworkClass network) {
  return std::any_of(calibration.entries.begin(), calibration.entries.end(),
                     [](const auto& entry) { return entry.across_nodes; }) &&
         (calibration.network.empty() || calibration.network == name_in(kNetworkClassNames, network));
}

bool has_ranks(std::span<const nccl::FittedRows> fitted, int ranks) {
  return std::any_of(fitted.begin(), fitted.end(),
                     [&](const auto& rows) { return rows.nodes == 1 && rows.ranks >= ranks; });
}

// NVLink switches' class has nodes of up to 8.
bool is_in_rack(const nccl::Communicator& communicator) {
  return communicator.nodes == 1 && communicator.nvlink && communicator.ranks > nccl::kMostGpusOfHost;
}

// Tables of at least as many GPUs of a node: how PCIe is shared changes with their number.
bool knows_node(const nccl::Calibration& calibration, int gpus) {
  auto has_them = [&](const auto& entry) { return has_ranks(entry.fitted_to, gpus); };
  return std::any_of(calibration.entries.begin(), calibration.entries.end(), has_them) ||
         std::any_of(calibration.node.begin(), calibration.node.end(), has_them);
}

// Of NVLink domains of more GPUs than a host has.
std::optional<Doubt> rack_doubt(Of of, const nccl::Communicator& communicator,
                                const nccl::Calibration& calibration) {
  if (communicator.joins_racks && calibration.entries.empty())
    return Doubt{of, kRacks, "NVLink domains of racks"};
  if (is_in_rack(communicator) && calibration.node.empty())
    return Doubt{of, kRack, "an NVLink domain of more than 8 GPUs"};
  return std::nullopt;
}

std::vector<Doubt> axis_doubts(const Topology& topology, const Communication& communication,
                               const CommunicatorAxis& axis) {
  std::vector<Doubt> doubts;
  const auto& cluster = *communication.cluster;
  const auto& group = communication.groups[axis.first];
  const auto* calibration =
      communication.nccl.empty() ? nullptr : &communication.nccl.front()->cost().calibration();
  auto of = of_axis(axis);
  bool crosses = crosses_nodes(cluster, group);
  for (const auto& [network, factor, what] : kNetworks)
    if (crosses && topology.network == network && !(calibration && knows_network(*calibration, network)))
      doubts.push_back({of, factor, std::string(what)});
  if (calibration)
    if (auto doubt = rack_doubt(of, communication.nccl[axis.first]->cost().communicator(), *calibration))
      doubts.push_back(*std::move(doubt));
  if (communication.gloo) {
    doubts.push_back({of, kGloo, "Gloo"});
    return doubts;
  }
  auto node = first_node(cluster, group);
  if (node.over_pcie && !(calibration && knows_node(*calibration, node.gpus)))
    doubts.push_back({of, kPcie, "PCIe"});
  return doubts;
}

}  // namespace

std::vector<Doubt> compute_doubts(const Software& software, const GpuDescription& gpu, Precision precision,
                                  bool is_calibrated) {
  std::vector<Doubt> doubts;
  bool is_known_gpu = software.is_for_gpu ||
                      std::find(kFittedArchitectures.begin(), kFittedArchitectures.end(), gpu.architecture) !=
                          kFittedArchitectures.end();
  if (!is_known_gpu)
    doubts.push_back(
        {Of::compute, kNeverFitted, fmt::format("compute (no software was fitted on {})", gpu.name)});
  else if (!is_fitted_type(software, precision))
    doubts.push_back({Of::compute, kNeverFitted,
                      fmt::format("compute ({} was not fitted in {})", software.name,
                                  name_in(kPrecisionNames, precision))});
  else if (!software.is_for_gpu)
    doubts.push_back({Of::compute, kOtherGpu,
                      fmt::format("compute ({} was fitted on {})", software.name, software.fitted_on)});
  if (is_calibrated && !software.judged_error)
    doubts.push_back({Of::compute, 1 + kOneStepError, "compute (calibrated)"});
  else if (software.judged_error)
    doubts.push_back({Of::compute, 1 + *software.judged_error, fmt::format("compute by {}", software.name)});
  else if (doubts.empty())
    doubts.push_back(
        {Of::compute, kOtherGpu, fmt::format("compute ({} was judged by no step)", software.name)});
  return doubts;
}

Doubt list_of_layers_doubt() {
  return {Of::compute, kNeverFitted, "compute of a list of layers"};
}

Doubt rescaled_doubt() {
  return {Of::compute, kOtherGpu, "compute rescaled from another GPU"};
}

std::optional<Note> software_scope_note(const Scenario& scenario) {
  if (!scenario.model_step) return std::nullopt;
  const auto& software = scenario.model_step->software;
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

std::vector<Doubt> model_doubts(const Scenario& scenario) {
  std::vector<Doubt> doubts;
  if (!scenario.model_step) return doubts;
  const auto& step = *scenario.model_step;
  if (const auto& scope = step.software.scope; scope.tensor > 0 && tensor_of(scenario) > scope.tensor)
    doubts.push_back(
        {Of::compute, kTensorBeyond, "tensor parallelism beyond what its software was judged with"});
  if (step.model.has_experts()) doubts.push_back({Of::step, kExperts, "experts"});
  if (scenario.parallel && scenario.parallel->options.degrees.context > 1 &&
      step.step.shape.sequence >= kLongSequence)
    doubts.push_back({Of::step, kLongContext, "long sequences over several GPUs"});
  return doubts;
}

std::vector<Doubt> network_doubts(const Topology& topology, const Communication& communication) {
  std::vector<Doubt> doubts;
  // Groups of an axis are alike.
  for (const auto& axis : communication.axes)
    if (axis.first < communication.groups.size())
      for (auto& doubt : axis_doubts(topology, communication, axis))
        if (std::find(doubts.begin(), doubts.end(), doubt) == doubts.end())
          doubts.push_back(std::move(doubt));
  return doubts;
}

}  // namespace ddpsim
