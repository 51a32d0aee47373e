#pragma once
// Clusters from literal YAML, and what tests say about them.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sim/text/topology_file.hpp"
#include "sim/topology/topology.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {

inline std::shared_ptr<const Topology> read_text(const std::string& text) {
  TemporaryFolder folder;
  return read_topology(folder.write("t.yaml", text));
}

inline std::shared_ptr<const Cluster> build_text(const std::string& text, int gpus,
                                                 const std::vector<LinkOverride>& overrides = {}) {
  return read_text(text)->build(gpus, overrides);
}

// The message of reading this text, or of building that many GPUs of it.
inline std::string topology_error(const std::string& text, int gpus = 2) {
  TemporaryFolder folder;
  auto path = folder.write("t.yaml", text);
  return folder.without_folder(input_error([&] { (void)read_topology(path)->build(gpus); }));
}

inline std::string file_path(const std::string& name) {
  return std::string(DDPSIM_SOURCE_DIR) + "/topologies/" + name;
}

inline std::vector<std::string> link_names(const Cluster& cluster, const std::vector<int>& links) {
  std::vector<std::string> names;
  for (int link : links) names.push_back(cluster.link_name(link));
  return names;
}
inline std::vector<std::string> way(const Cluster& cluster, int from_gpu, int to_gpu) {
  return link_names(cluster, cluster.route(from_gpu, to_gpu).links);
}

inline std::vector<int> all_gpus(const Cluster& cluster) {
  std::vector<int> gpus(static_cast<std::size_t>(cluster.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

inline void expect_figures(const Route& route, double bandwidth, double latency) {
  EXPECT_DOUBLE_EQ(route.bandwidth.value(), bandwidth);
  EXPECT_NEAR(route.latency.value(), latency, 1e-15);
}

}  // namespace ddpsim::testing
