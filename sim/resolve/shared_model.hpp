#pragma once
// A model that GPUs share: who exchanges what with whom, and the step of each stage.
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/resolve/cluster.hpp"
#include "sim/resolve/parallel_places.hpp"
#include "sim/resolve/parallel_section.hpp"

namespace ddpsim {

// `batch.global`: as many micro-batches as that takes.
void settle_batch(const GivenJob& given, const ParallelSection& parallel, const Scenario& scenario,
                  DdpOptions& options);
// `fsdp.shard_group`, where it says a node.
void settle_shard_group(Files& files, const GivenJob& given, StrategyChoice& choice);
// The strategy along the data axis of such a model. Throws InputError where it is not simulated there.
void settle_data_axis(Files& files, const GivenJob& given, const DdpOptions& ddp,
                      const ParallelSection& parallel, const Scenario& scenario, ParallelOptions& options);

// The step's options, and the step, of which collectives within passes take so long.
ParallelOptions shared_options(Files& files, const GivenJob& given, const ParallelSection& parallel,
                               const DdpOptions& options, Scenario& scenario);
struct WithinPasses {
  TensorCollectives tensor = {};
  ContextCollectives context = {};
  ExpertCollectives expert = {};
};
std::shared_ptr<const ParallelStep> shared_step(Files& files, const GivenJob& given,
                                                const ParallelSection& parallel,
                                                const ParallelOptions& options, const WithinPasses& within,
                                                const Scenario& scenario);

// The cluster of such models without groups: jobs that spread a model otherwise have it in common.
struct SharedClusterKey {
  using Value = std::shared_ptr<const Communication>;
  TopologyKey topology;
  JobTexts texts;
  auto operator<=>(const SharedClusterKey&) const = default;
};
// Where the GPUs of such a model are, and how they communicate.
struct SharedCluster {
  const GivenJob& given;
  const Collective& collective;
  const Topology& topology;
  const SharedClusterKey& key;
  std::shared_ptr<const Communication> cluster;  // without groups
  const Places& places;
};
// NCCL's models of its groups, and their traffic.
void settle_shared_groups(Files& files, const SharedCluster& of, Communication& communication);

// What one collective takes of those that GPUs which share layers, sequences or experts have within passes.
WithinPasses find_within_passes(Files& files, const SharedCluster& of, Scenario& scenario);

// Its communication, classes of ranks and step.
std::shared_ptr<const RankPlaces> resolve_shared_model(Files& files, const GivenJob& given,
                                                       const Collective& collective,
                                                       const ParallelSection& parallel,
                                                       const DdpOptions& options, Scenario& scenario);

}  // namespace ddpsim
