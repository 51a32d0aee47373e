#pragma once
// The readers of the kinds of topology files, and of what these are made of.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/topology/fabric.hpp"
#include "sim/topology/node_model.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// What files of any kind say.
struct TopologyFile {
  std::optional<std::string> gpu = {};
  std::optional<Extent> extent = {};
  std::optional<config::Value> nccl = {};
  std::vector<LinkOverride> overrides = {};
};
keys::Type<Extent> extent_rows();
keys::Type<std::vector<LinkOverride>> link_override_rows();

// The keys in front of those of a kind.
template <class File>
keys::Rows<File> topology_rows(std::string_view kind) {
  keys::Rows<File> rows("topology");
  rows.kind(kind);
  // A plain ring says nothing of nodes, which NCCL's model counts.
  if (kind != "ring")
    rows.template key<&TopologyFile::nccl>("nccl", keys::maybe(keys::any()), "For NCCL's model");
  rows.template key<&TopologyFile::gpu>("gpu", keys::maybe(keys::text()), "A name or a file");
  rows.template key<&TopologyFile::extent>("extent", keys::maybe(extent_rows()), "Of its sources");
  return rows;
}

// `common` takes what is not the kind's.
std::shared_ptr<Topology> read_ring(const config::Value& root, TopologyFile& common);
std::shared_ptr<Topology> read_cluster(const config::Value& root, TopologyFile& common);
std::shared_ptr<Topology> read_graph(const config::Value& root, TopologyFile& common);

NodeModel read_node(const config::Value& value);
Fabric read_fabric(const config::Value& value);
keys::Type<Link> link_rows(std::string_view name);

}  // namespace ddpsim
