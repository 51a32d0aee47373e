#pragma once
// Scenarios that NCCL's model carries out, from text: what a user writes is what is simulated.
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/config/value.hpp"
#include "sim/cost/nccl_model.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/topology/topology.hpp"

#include "tests/engine/scenarios.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {

inline std::shared_ptr<const Topology> preset(const std::string& name) {
  return read_topology(std::string(DDPSIM_SOURCE_DIR) + "/topologies/" + name + ".yaml");
}

inline std::shared_ptr<const Topology> topology_of(const std::string& text) {
  TemporaryFolder folder;
  return read_topology(folder.write("topology.yaml", text));
}

// Eight A100s and eight 200 Gb/s NICs a node, as in a DGX A100 but uncalibrated: times are the tuner's own.
inline const std::string kA100s =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 8\n"
    "  interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}\n"
    "  nics: {count: 8, bandwidth: 200Gbps, latency: 5us}\n"
    "fabric: {kind: rail_optimized}\n"
    "nccl: {gpu: ampere, cpu: amd}\n";

// The same with H100s, NVLink SHARP and NICs of 400 Gb/s.
inline const std::string kH100s =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 8\n"
    "  interconnect: {kind: nvswitch, bandwidth: 450GB/s, latency: 1us, multicast: true}\n"
    "  nics: {count: 8, bandwidth: 400Gbps, latency: 5us}\n"
    "fabric: {kind: rail_optimized}\n"
    "nccl: {gpu: hopper, cpu: intel}\n";

// Two GPUs behind one NIC of 25 GB/s: groups of every other rank share it.
inline const std::string kSharedNics =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 2\n"
    "  interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}\n"
    "  nics: {count: 1, bandwidth: 25GB/s, latency: 5us}\n"
    "fabric: {kind: rail_optimized}\n"
    "nccl: {gpu: ampere, cpu: amd}\n";

// Nothing measured is as fast: what is left of a time is what the links take.
inline const std::string kNoTimeAtAll =
    "curves:\n"
    "  - {algorithm: ring, across_nodes: true, latency_scale: 0.001, efficiency: 1000, ramp: 0.001us}\n"
    "  - {algorithm: ring, across_nodes: false, latency_scale: 0.001, efficiency: 1000, ramp: 0.001us}\n";

// What a scenario file says. `gradients` are lines of a trace: name,elements,float32,ready in seconds.
struct NcclCase {
  std::string topology = kA100s;
  int world_size = 16;
  std::string cluster;     // more keys: ", groups: {tensor_parallel: 2}"
  std::string collective;  // keys: "nccl: {algorithm: ring}"
  std::string more;        // further sections
  std::string gradients = "g0,25600000,float32,0.001\n";
  std::string calibration;  // of the topology; a file beside it
  std::string workload;     // more keys

  [[nodiscard]] Scenario read() const {
    TemporaryFolder folder;
    folder.write("trace.csv", "# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\n" + gradients);
    folder.write("calibration.yaml", calibration);
    folder.write("topology.yaml", topology);
    auto path =
        folder.write("scenario.yaml", fmt::format("workload: {{trace: trace.csv{}}}\n"
                                                  "cluster: {{topology: topology.yaml, world_size: {}{}}}\n"
                                                  "collective: {{{}}}\n{}\n",
                                                  workload, world_size, cluster, collective, more));
    return resolve(Files(path), config::load_yaml(path, "a scenario"));
  }
};

// What the group's model says of its buckets, one after the other.
inline std::vector<NcclModel::Choice> choices(const Scenario& scenario, std::size_t group = 0) {
  std::vector<NcclModel::Choice> all;
  for (const auto& bucket : scenario.plan.buckets)
    all.push_back(scenario.communication->nccl.at(group)->choose(bucket.bytes));
  return all;
}

// How long each collective of a rank class was in flight.
inline std::vector<double> durations(const RankTimeline& ranks) {
  std::vector<double> all;
  for (const auto& span : ranks.communication) all.push_back((span.end - span.start).value());
  return all;
}

inline const RankTimeline& of_rank(const Timeline& timeline, int rank) {
  for (const auto& ranks : timeline.rank_classes)
    if (ranks.rank == rank) return ranks;
  throw InternalError(fmt::format("no class is named by rank {}", rank));
}

}  // namespace ddpsim::testing
