// The section `collective.nccl`: what differs from what NCCL would do by itself, and the models of all
// groups.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "sim/base/doing.hpp"
#include "sim/config/reader.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/nccl_platform_section.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/topology/group_shape.hpp"

namespace ddpsim {
namespace {

using config::as_word;
using config::MapReader;
using config::Value;
using config::Words;

std::vector<nccl::Algorithm> as_algorithms(const Value& value) {
  using Choice = std::vector<nccl::Algorithm>;
  return as_word(Words<Choice>{{"auto", {}},
                               {"ring", {nccl::Algorithm::ring}},
                               {"tree", {nccl::Algorithm::tree}},
                               {"nvls", {nccl::Algorithm::nvls, nccl::Algorithm::nvls_tree}}})(value);
}

std::vector<nccl::Protocol> as_protocols(const Value& value) {
  using Choice = std::vector<nccl::Protocol>;
  return as_word(Words<Choice>{{"auto", {}},
                               {"ll", {nccl::Protocol::ll}},
                               {"ll128", {nccl::Protocol::ll128}},
                               {"simple", {nccl::Protocol::simple}}})(value);
}

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

}  // namespace

NcclSection ScenarioReader::read_nccl_section(const Value* value) {
  if (!value) return {};
  MapReader reader(*value, "nccl");
  NcclSection section;
  section.section = value;
  section.allowed.algorithms =
      reader.optional("algorithm", as_algorithms).value_or(std::vector<nccl::Algorithm>{});
  section.allowed.protocols =
      reader.optional("protocol", as_protocols).value_or(std::vector<nccl::Protocol>{});
  section.version = reader.optional("version", as_nccl_version);
  if (const Value* collnet = reader.find("collnet")) {
    section.collnet = collnet->span;
    section.allowed.collnet = config::as_bool(*collnet);
  }
  if (const Value* symmetric = reader.find("symmetric")) {
    section.symmetric = symmetric->span;
    section.allowed.symmetric = config::as_bool(*symmetric);
  }
  if (const Value* path = reader.find("calibration")) {
    section.uncalibrated = path->kind == Value::Kind::scalar && path->scalar == "none";
    if (!section.uncalibrated) {
      auto preset = preset_file(PresetKind::calibrations, *path);
      section.calibration = preset ? *preset : resolve(*path);
    }
  }
  reader.finish();
  return section;
}

bool ScenarioReader::uses_nccl(const Topology& topology, const Collective& collective) {
  const Value* section = collective.nccl.section;
  if (section && !collective.automatic)
    throw InputError(section->span, "only algorithm: auto is NCCL's model",
                     "remove 'nccl', or write algorithm: auto");
  try {
    if (section) require_nccl(topology, "the topology");
  } catch (const InputError& error) {
    throw error.at(section->span);
  }
  if (!topology.nccl || !collective.automatic) return false;
  if (collective.nccl.allowed.collnet && !topology.nccl->network_reduces)
    throw InputError(
        collective.nccl.collnet, "CollNet needs a network that reduces, which this topology's does not",
        "where its switches do (SHARP) and NCCL has the plug-in, write nccl: {network_reduces: true} "
        "in the topology; else remove 'collnet'");
  if (collective.options.channels || !collective.options.search_rings || !collective.options.rings.empty())
    throw InputError(collective.place, "NCCL's model finds its rings and channels itself",
                     "remove 'channels', 'ring_order' and 'rings', or write algorithm: ring for plain rings");
  return true;
}

void ScenarioReader::add_nccl_models(const NcclPlatform& platform, const NcclSection& section,
                                     Communication& communication) {
  Doing doing("working out what NCCL chooses");
  auto mine = platform;
  nccl::Calibration calibration;
  auto path = section.calibration ? section.calibration : platform.calibration;
  if (path && !section.uncalibrated) {
    auto& known = calibrations_[*path];
    if (!known) known = std::make_shared<const nccl::Calibration>(read_calibration(*path));
    calibration = *known;
    if (section.calibration && !platform.says_version) mine.version = release_of(calibration);
  }
  if (section.uncalibrated && !platform.says_version) mine.version = nccl::kDefaultVersion;
  if (section.version) mine.version = *section.version;
  std::map<std::vector<int>, std::shared_ptr<const NcclModel>> known_shapes;
  for (const auto& gpus : communication.groups) {
    auto shape = group_shape(*communication.cluster, gpus);
    std::shared_ptr<const NcclModel> unknown;
    auto& model = shape ? known_shapes[*std::move(shape)] : unknown;
    if (model) {
      communication.nccl.push_back(model);
      continue;
    }
    auto communicator = nccl_communicator(*communication.cluster, gpus, mine);
    try {
      if (section.allowed.symmetric) nccl::require_symmetric(communicator, section.allowed);
    } catch (const InputError& error) {
      throw error.at(section.symmetric);
    }
    model = std::make_shared<const NcclModel>(*communication.cluster, gpus, communicator, section.allowed,
                                              calibration);
    communication.nccl.push_back(model);
  }
  tell_apart(communication);
}

}  // namespace ddpsim
