#include "sim/topology/topology.hpp"

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/topology/named_file.hpp"
#include "sim/topology/topology_kinds.hpp"

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

}  // namespace

const NcclPlatform& require_nccl(const Topology& topology, const std::string& name) {
  if (topology.nccl) return *topology.nccl;
  bool has_nodes = topology.usual_size().has_value();
  throw InputError(fmt::format("{} says nothing of NCCL's platform", name),
                   has_nodes ? "add a section 'nccl' to it, such as nccl: {gpu: hopper, cpu: intel}"
                             : "a plain ring has no nodes for NCCL to count: use kind: cluster or graph");
}

std::shared_ptr<const Topology> read_topology(const std::string& path) {
  Value root = config::load_yaml(path, "a topology");
  MapReader reader(root, "topology");
  auto kind = reader.required(
      "kind",
      config::as_word(config::Words<TopologyKind>{
          {"ring", TopologyKind::ring}, {"cluster", TopologyKind::cluster}, {"graph", TopologyKind::graph}}));
  // A plain ring says nothing of nodes, which NCCL's model counts.
  const Value* nccl = kind == TopologyKind::ring ? nullptr : reader.find("nccl");
  const Value* gpu = reader.find("gpu");
  auto topology = read_kind(kind, reader);
  if (gpu) topology->gpu = named_file(*gpu, path);
  if (nccl) topology->nccl = read_nccl_platform(*nccl, path);
  return topology;
}

}  // namespace ddpsim
