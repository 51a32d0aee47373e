#pragma once
// The readers of the kinds of topology files. Each takes over after `kind` has been read.
#include <memory>

#include "sim/config/reader.hpp"
#include "sim/topology/fabric.hpp"
#include "sim/topology/node_model.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

std::shared_ptr<Topology> read_ring(config::MapReader& file);
std::shared_ptr<Topology> read_cluster(config::MapReader& file);
std::shared_ptr<Topology> read_graph(config::MapReader& file);

NodeModel read_node(const config::Value& value);
Fabric read_fabric(const config::Value& value);
Link read_link(const config::Value& value, const std::string& name);

}  // namespace ddpsim
