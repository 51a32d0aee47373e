// The section `collective.nccl`: what differs from what NCCL would do by itself, and the models of all
// groups.
#include <algorithm>

#include <fmt/core.h>

#include "sim/base/doing.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/resolve/collective.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/nccl_platform_section.hpp"
#include "sim/topology/group_shape.hpp"

namespace ddpsim {
namespace {

// Of groups of one shape, wherever they are on the cluster.
struct NcclModelKey {
  using Value = std::shared_ptr<const NcclModel>;
  TopologyKey topology;
  JobTexts texts;
  std::vector<int> shape;
  auto operator<=>(const NcclModelKey&) const = default;
};

// Groups that NCCL's model treats differently do not launch at the same times.
void tell_apart(Communication& communication) {
  std::vector<std::pair<int, const NcclModel*>> kinds;
  for (std::size_t g = 0; g < communication.groups.size(); ++g) {
    const auto& model = *communication.nccl[g];
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.first == communication.labels[g] && (kind.second == &model || kind.second->like(model));
    });
    auto label = static_cast<int>(known - kinds.begin());
    if (known == kinds.end()) kinds.emplace_back(communication.labels[g], &model);
    communication.labels[g] = label;
  }
}

nccl::Allowed allowed_by(const job::Nccl& section) {
  nccl::Allowed allowed;
  allowed.algorithms = section.algorithms;
  allowed.protocols = section.protocols;
  if (section.collnet) allowed.collnet = *section.collnet;
  if (section.symmetric) allowed.symmetric = *section.symmetric;
  return allowed;
}

// `collective.nccl.calibration`: a path; none: the topology's.
std::optional<std::string> calibration_of(const Files& files, const GivenJob& given) {
  const auto& section = given.job.collective.nccl;
  if (!section || !section->calibration || *section->calibration == "none") return std::nullopt;
  auto named = given.located(*section->calibration, "collective.nccl.calibration");
  auto preset = preset_file(PresetKind::calibrations, named);
  return preset ? *preset : files.path_of(named);
}

}  // namespace

nccl::Allowed allowed_of(const GivenJob& given) {
  const auto& section = given.job.collective.nccl;
  return section ? allowed_by(*section) : nccl::Allowed();
}

bool uses_nccl(const GivenJob& given, const Topology& topology, const Collective& collective) {
  const auto& section = given.job.collective.nccl;
  const auto& place = given.at("collective.nccl");
  if (section && !collective.automatic)
    throw InputError(place, "only algorithm: auto is NCCL's model",
                     "remove 'nccl', or write algorithm: auto");
  try {
    if (section) require_nccl(topology, "the topology");
  } catch (const InputError& error) {
    throw error.at(place);
  }
  if (!topology.nccl || !collective.automatic) return false;
  if (section && section->collnet.value_or(false) && !topology.nccl->network_reduces)
    throw InputError(
        given.at("collective.nccl.collnet"),
        "CollNet needs a network that reduces, which this topology's does not",
        "where its switches do (SHARP) and NCCL has the plug-in, write nccl: {network_reduces: true} "
        "in the topology; else remove 'collnet'");
  if (collective.options.channels || !collective.options.search_rings || !collective.options.rings.empty())
    throw InputError(collective.place, "NCCL's model finds its rings and channels itself",
                     "remove 'channels', 'ring_order' and 'rings', or write algorithm: ring for plain rings");
  return true;
}

void add_nccl_models(Files& files, const GivenJob& given, const NcclPlatform& platform,
                     Communication& communication) {
  Doing doing("working out what NCCL chooses");
  auto section = given.job.collective.nccl.value_or(job::Nccl());
  auto allowed = allowed_by(section);
  bool is_uncalibrated = section.calibration == "none";
  auto mine = platform;
  nccl::Calibration calibration;
  auto said = calibration_of(files, given);
  auto path = said ? said : platform.calibration;
  if (path && !is_uncalibrated) {
    calibration = *files.calibration(*path);
    if (said && !platform.says_version) mine.version = release_of(calibration);
  }
  if (is_uncalibrated && !platform.says_version) mine.version = nccl::kDefaultVersion;
  if (section.version) mine.version = *section.version;
  if (given.job.cluster.gpu)
    if (auto gpu = find_gpu(files, given).description) mine.driver_peer_to_peer = gpu->peer_to_peer;
  const auto& cluster = *communication.cluster;
  auto model_of = [&](const std::vector<int>& gpus) {
    auto communicator = nccl_communicator(cluster, gpus, mine);
    try {
      if (allowed.symmetric) nccl::require_symmetric(communicator, allowed);
    } catch (const InputError& error) {
      throw error.at(given.at("collective.nccl.symmetric"));
    }
    return std::make_shared<const NcclModel>(cluster, gpus, communicator, allowed, calibration);
  };
  NcclModelKey key{topology_key(files, given), texts_of(given, {"cluster", "collective"}), {}};
  for (const auto& gpus : communication.groups) {
    if (auto shape = group_shape(cluster, gpus)) {
      key.shape = *std::move(shape);
      communication.nccl.push_back(files.once(key, [&] { return model_of(gpus); }));
    } else {
      communication.nccl.push_back(model_of(gpus));
    }
  }
  tell_apart(communication);
}

}  // namespace ddpsim
