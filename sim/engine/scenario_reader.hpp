#pragma once
// From a parsed scenario file to Scenarios.
#include <map>
#include <memory>
#include <string>

#include "sim/config/value.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Who reduces gradients with whom, and over what.
struct ClusterTraffic {
  std::vector<RankGroup> groups;
  std::shared_ptr<const Communication> communication;
};

// Reads scenarios; each trace, topology and table is read once, however many points of a sweep name it.
class ScenarioReader {
 public:
  // `path` is the scenario file: paths inside it are relative to its folder, paths given by --set to the
  // working directory.
  explicit ScenarioReader(std::string path) : path_(std::move(path)) {}

  // `root` is the file with overrides applied and without its sweep section. Throws InputError with the place
  // and a hint.
  Scenario read(const config::Value& root);

 private:
  // The section `collective`.
  struct Collective {
    const config::Value* section = nullptr;
    CollectiveOptions options;
    std::shared_ptr<const MeasuredTable> table;  // null: simulate the topology
    SourceSpan table_span;
    SourceSpan place;  // of the algorithm, or the best there is
  };

  [[nodiscard]] std::string resolve(const config::Value& path) const;
  void read_workload(const config::Value& root, Scenario& scenario, DdpOptions& options);
  Collective read_collective(const config::Value* value);
  void read_cluster(const config::Value& root, const Collective& collective, const config::Value* stragglers,
                    Scenario& scenario);
  std::shared_ptr<const Topology> find_topology(const config::Value& path);

  std::string path_;
  std::map<std::string, std::shared_ptr<const LayerTrace>> traces_;
  std::map<std::pair<std::string, double>, std::shared_ptr<const LayerTrace>> scaled_traces_;
  std::map<std::string, std::shared_ptr<const Topology>> topologies_;
  std::map<std::string, std::shared_ptr<const MeasuredTable>> tables_;
  // By the text they were read from: points that differ in their buckets only have them in common.
  std::map<std::string, ClusterTraffic> clusters_;
};

}  // namespace ddpsim
