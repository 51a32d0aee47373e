#include "sim/text/topology_file.hpp"

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/overrides.hpp"
#include "sim/job/override_rows.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/cluster_overrides.hpp"
#include "sim/text/named_file.hpp"
#include "sim/text/nccl_platform_section.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_readers.hpp"

namespace ddpsim {

using config::MapReader;
using config::Value;

Link read_link(const Value& value, const std::string& name) {
  MapReader reader(value, name);
  Link link{reader.required("bandwidth", config::as_bandwidth),
            reader.required("latency", config::as_seconds)};
  reader.finish();
  return link;
}

LinkOverride read_link_override(const Value& value) {
  static const auto rows = job::override_rows(job::Overridden::links);
  keys::Places places;
  auto entry = keys::read_alone(rows, value, places);
  return *link_override(entry, places.at("link"));
}

namespace {

enum class TopologyKind { ring, cluster, graph };

std::shared_ptr<Topology> read_kind(TopologyKind kind, MapReader& reader) {
  switch (kind) {
    case TopologyKind::cluster:
      return read_cluster(reader);
    case TopologyKind::graph:
      return read_graph(reader);
    case TopologyKind::ring:
      return read_ring(reader);
  }
  DDPSIM_CHECK(false, "every kind has a reader");
  return nullptr;
}

Extent read_extent(const Value& value) {
  MapReader reader(value, "extent");
  Extent extent{static_cast<int>(reader.required("gpus", config::as_integer(1, kLargestWorldSize))),
                reader.required("beyond", config::as_string)};
  reader.finish();
  return extent;
}

// Which NIC is whose, and what they are called, is known of as many as there were.
void apply(const config::Entry& change, Value& root) {
  const auto* kind = root.find("kind");
  if (kind && !config::is_word(kind->value, "cluster"))
    throw InputError(change.key_span, "only a topology of kind cluster has nodes that are all alike",
                     "use such a topology, or cluster.overrides for links by name");
  auto section = change.key.substr(0, change.key.find_last_of('.'));
  if (!config::find_at(root, section))
    throw InputError(change.key_span, fmt::format("the topology has no '{}'", section),
                     "use a topology that has one");
  if (change.key == "node.gpus" || change.key == "node.nics.count")
    if (auto* node = root.find("node"))
      if (auto* nics = node->value.find("nics"))
        std::erase_if(nics->value.entries,
                      [](const auto& entry) { return entry.key == "affinity" || entry.key == "devices"; });
  config::set_at(root, change.key, change.value, change.key_span);
}

}  // namespace

std::shared_ptr<const Topology> read_topology(const std::string& path, const TopologyChanges& changes) {
  Value root = config::load_yaml(path, "a topology");
  for (const auto& change : changes) apply(change, root);
  MapReader reader(root, "topology");
  auto kind = reader.required(
      "kind",
      config::as_word(config::Words<TopologyKind>{
          {"ring", TopologyKind::ring}, {"cluster", TopologyKind::cluster}, {"graph", TopologyKind::graph}}));
  // A plain ring says nothing of nodes, which NCCL's model counts.
  const Value* nccl = kind == TopologyKind::ring ? nullptr : reader.find("nccl");
  const Value* gpu = reader.find("gpu");
  auto extent = reader.optional("extent", read_extent);
  auto topology = read_kind(kind, reader);
  topology->extent = std::move(extent);
  if (gpu) {
    Located named{config::as_string(*gpu), gpu->span};
    auto preset = preset_file(PresetKind::gpus, named);
    topology->gpu = preset ? *preset : named_file(named, path);
  }
  if (nccl) topology->nccl = read_nccl_platform(*nccl, path);
  return topology;
}

}  // namespace ddpsim
