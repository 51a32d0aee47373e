#include "sim/text/topology_file.hpp"

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/config/overrides.hpp"
#include "sim/job/rows/override_rows.hpp"
#include "sim/text/cluster_overrides.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/named_file.hpp"
#include "sim/text/nccl_platform_section.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_readers.hpp"

namespace ddpsim {

using config::Value;

keys::Type<Extent> extent_rows() {
  return keys::nested(keys::Rows<Extent>("extent")
                          .needs<&Extent::gpus>("gpus", keys::whole(1, kLargestWorldSize), "Described")
                          .needs<&Extent::beyond>("beyond", keys::text(), "What is done with more"));
}

keys::Type<std::vector<LinkOverride>> link_override_rows() {
  return keys::list(keys::made_of<LinkOverride, job::Override>(
      job::override_rows(job::Overridden::links), [](const job::Override& entry, const Value& from) {
        return *link_override(entry, from.find("link")->value.span);
      }));
}

namespace {

enum class TopologyKind { ring, cluster, graph };

std::shared_ptr<Topology> read_kind(TopologyKind kind, const Value& root, TopologyFile& common) {
  switch (kind) {
    case TopologyKind::cluster:
      return read_cluster(root, common);
    case TopologyKind::graph:
      return read_graph(root, common);
    case TopologyKind::ring:
      return read_ring(root, common);
  }
  DDPSIM_CHECK(false, "every kind has a reader");
  return nullptr;
}

bool may_have_pcie(const Value& root) {
  if (root.find("links")) return true;  // of a graph
  const auto* node = root.find("node");
  const auto* joined = node ? node->value.find("interconnect") : nullptr;
  if (!joined) return false;
  const auto* kind = joined->value.find("kind");
  return joined->value.find("pcie") || (kind && config::is_word(kind->value, "pcie"));
}

constexpr std::string_view kOfSlots = "node.interconnect.";

bool is_of_pcie(const config::Entry& change) {
  return change.key.starts_with(kOfSlots) &&
         (change.key.ends_with(".peer_to_peer") || change.key.ends_with(".numa"));
}

// Where the file says it: of kind pcie beside its figures, of others in their section of PCIe; of a graph in
// one of its own.
std::string place_of_pcie(const config::Entry& change, const Value& root) {
  auto key = change.key.substr(kOfSlots.size());
  if (root.find("links")) return "pcie." + key;
  const auto* joined = config::find_at(root, "node.interconnect");
  const auto* kind = joined ? joined->find("kind") : nullptr;
  bool is_pcie = kind && config::is_word(kind->value, "pcie");
  if (!is_pcie && !(joined && joined->find("pcie")))
    throw InputError(change.key_span, "no PCIe joins these GPUs", "remove it, or use a topology with PCIe");
  return fmt::format("{}{}{}", kOfSlots, is_pcie ? "" : "pcie.", key == "numa" ? "host.numa" : key);
}

// Which NIC is whose, and what they are called, is known of as many as there were.
void apply(const config::Entry& change, Value& root) {
  if (is_of_pcie(change))
    return config::set_at(root, place_of_pcie(change, root), change.value, change.key_span);
  const auto* kind = root.find("kind");
  if (kind && !config::is_word(kind->value, "cluster"))
    throw InputError(change.key_span, "only a topology of kind cluster has nodes that are all alike",
                     "use such a topology, or cluster.overrides for links by name");
  auto section = change.key.substr(0, change.key.find_last_of('.'));
  if (section == "nccl.socket") section = "nccl";
  if (!config::find_at(root, section))
    throw InputError(change.key_span, fmt::format("the topology has no '{}'", section),
                     "use a topology that has one");
  if (change.key == "node.gpus" || change.key == "node.nics.count")
    if (auto* node = root.find("node"))
      if (auto* nics = node->value.find("nics"))
        std::erase_if(nics->value.entries,
                      [](const auto& entry) { return entry.key == "affinity" || entry.key == "devices"; });
  // A slot of another bandwidth has no width that says it.
  if (change.key == "node.interconnect.bandwidth")
    if (auto* node = root.find("node"))
      if (auto* interconnect = node->value.find("interconnect"))
        std::erase_if(interconnect->value.entries, [](const auto& entry) { return entry.key == "width"; });
  config::set_at(root, change.key, change.value, change.key_span);
}

}  // namespace

std::shared_ptr<const Topology> read_topology(const std::string& path, const TopologyChanges& changes) {
  Value root = config::load_yaml(path, "a topology");
  for (const auto& change : changes) apply(change, root);
  auto kind =
      config::MapReader(root, "topology")
          .required("kind", config::as_word(config::Words<TopologyKind>{{"ring", TopologyKind::ring},
                                                                        {"cluster", TopologyKind::cluster},
                                                                        {"graph", TopologyKind::graph}}));
  TopologyFile file;
  auto topology = read_kind(kind, root, file);
  topology->extent = std::move(file.extent);
  if (file.gpu) {
    Located named{*file.gpu, root.find("gpu")->value.span};
    auto preset = preset_file(PresetKind::gpus, named);
    topology->gpu = preset ? *preset : named_file(named, path);
  }
  if (file.nccl && topology->has_xgmi)
    throw InputError(root.find("nccl")->value.span,
                     "NCCL's model is of NVIDIA's GPUs, and xGMI joins those of AMD",
                     "leave 'nccl' out: collectives are schedules over the links; RCCL is not modelled");
  if (file.nccl) topology->nccl = read_nccl_platform(*file.nccl, path, *topology);
  if (topology->nccl && topology->gpu && may_have_pcie(root))
    topology->nccl->driver_peer_to_peer = read_gpu(*topology->gpu).peer_to_peer;
  return topology;
}

}  // namespace ddpsim
