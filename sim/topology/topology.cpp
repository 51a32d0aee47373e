#include "sim/topology/topology.hpp"

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

std::shared_ptr<const Topology> read_topology(const std::string& path) {
  enum class Kind { ring, cluster, graph };
  Value root = config::load_yaml(path, "a topology");
  MapReader reader(root, "topology");
  auto kind =
      reader.required("kind", config::as_word(config::Words<Kind>{
                                  {"ring", Kind::ring}, {"cluster", Kind::cluster}, {"graph", Kind::graph}}));
  switch (kind) {
    case Kind::cluster:
      return read_cluster(reader);
    case Kind::graph:
      return read_graph(reader);
    default:
      return read_ring(reader);
  }
}

}  // namespace ddpsim
