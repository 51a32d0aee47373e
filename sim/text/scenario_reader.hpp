#pragma once
// From a parsed scenario file to Scenarios.
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/strategies/parameter_server.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/workload_model.hpp"
#include "sim/topology/scaled_links.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

struct RankPlaces {
  std::vector<RankPlace> ranks;
  bool knows_nodes = false;
};

// `fsdp.shard_group`, and where it stands or would.
struct ShardGroup {
  std::optional<int> ranks;
  SourceSpan place;
};

// Who reduces gradients with whom, and over what.
struct ClusterTraffic {
  std::vector<RankGroup> groups;
  std::shared_ptr<Communication> communication;  // null: as long as a table says
  std::shared_ptr<const RankPlaces> places;
  std::vector<Note> notes = {};  // on its links
  // Sharded within groups: the ranks of each of the communication's.
  std::vector<std::vector<int>> mesh = {};
};

class CollectiveCost;
struct ParallelSection;
class Places;

// Reads scenarios; each trace, topology and table is read once, however many points of a sweep name it.
class ScenarioReader {
 public:
  // `path` is the scenario file: paths inside it are relative to its folder, paths given by --set to the
  // working directory.
  // `links`: what the links are in a what-if.
  explicit ScenarioReader(std::string path, const LinkScale& links = {})
      : path_(std::move(path)), links_(links) {}

  // Whether it keeps so much of former scenarios that a new one is better: some 200 MB.
  [[nodiscard]] bool keeps_much() const;

  // `root` is the file with overrides applied and without its sweep section. Throws InputError with the place
  // and a hint.
  Scenario read(const config::Value& root);
  Scenario read(const GivenJob& given);
  // Its workload, strategy, GPU and world size only, of one rank or more: what a GPU computes and keeps,
  // without a network.
  Scenario read_step(const config::Value& root);

 private:
  // The section `collective`, as what it asks for.
  struct Collective {
    CollectiveOptions options;
    std::vector<CommunicatorUse> communicators;  // the strategy's
    ShardGroup shard_group;
    std::optional<ServerOptions> servers;  // of strategy parameter_server
    SourceSpan servers_place;
    Backend backend = Backend::nccl;
    int workers = 1;
    bool is_auto = true;
    bool automatic = true;  // what NCCL would do, where the topology describes it; else rings
    std::shared_ptr<const MeasuredTable> table;  // null: simulate the topology
    SourceSpan place;                            // of the algorithm, or the best there is
  };

  // Where GPUs that share a model are, and how they communicate; `cluster` without groups.
  struct SharedCluster {
    const GivenJob& given;
    const Collective& collective;
    const Places& places;
    const std::shared_ptr<Communication>& cluster;
  };

  [[nodiscard]] std::string full_path(const Located& path) const;
  // The same; throw InputError where there is no such file.
  [[nodiscard]] std::string resolve(const Located& path) const;
  [[nodiscard]] std::string resolve(PresetKind kind, const Located& name_or_path) const;
  // `cluster.gpu`, else what the cluster's topology names; null: nothing is known of the GPU.
  std::shared_ptr<const GpuDescription> find_gpu(const GivenJob& given);
  // `gpu` is the cluster's, if it is known.
  void read_workload(const GivenJob& given, const std::shared_ptr<const GpuDescription>& gpu,
                     Scenario& scenario, DdpOptions& options);
  // Its parts: a recorded trace, and an estimate of a model.
  std::shared_ptr<const LayerTrace> find_trace(const GivenJob& given,
                                               const std::shared_ptr<const GpuDescription>& gpu,
                                               Scenario& scenario);
  std::shared_ptr<const LayerTrace> find_model(const GivenJob& given,
                                               const std::shared_ptr<const GpuDescription>& gpu,
                                               Scenario& scenario);
  // `host`, where scenario.host's links are known: after the cluster is read.
  void settle_host(const GivenJob& given, Scenario& scenario);
  // `fsdp.shard_group`, where it says a node.
  void settle_shard_group(const GivenJob& given, StrategyChoice& choice);
  // The plan of the strategy, and what is sharded.
  static void read_strategy(const GivenJob& given, StrategyChoice choice, Scenario& scenario);
  Collective read_collective(const GivenJob& given);
  // Whose communicators are those of workers and servers, without a library.
  static void use_servers(const GivenJob& given, Collective& collective);
  // `wanted`: simulated, even where NCCL's model alone would do; none: as is best.
  std::shared_ptr<const RankPlaces> read_cluster(const GivenJob& given, const Collective& collective,
                                                 std::optional<Fidelity> wanted, Scenario& scenario);
  // `batch.global`: as many micro-batches as that takes.
  static void settle_batch(const GivenJob& given, const ParallelSection& parallel, const Scenario& scenario,
                           DdpOptions& options);
  // Of a model that GPUs share: communicators, classes of ranks and the step.
  std::shared_ptr<const RankPlaces> read_shared_model(const GivenJob& given, const Collective& collective,
                                                      const ParallelSection& parallel,
                                                      const DdpOptions& options,
                                                      std::optional<Fidelity> wanted, Scenario& scenario);
  ParallelOptions shared_options(const GivenJob& given, const ParallelSection& parallel,
                                 const Parallelism& degrees, const DdpOptions& options, Scenario& scenario);
  std::shared_ptr<const ParallelStep> shared_step(const GivenJob& given, const ParallelSection& parallel,
                                                  const ParallelOptions& options,
                                                  const TensorCollectives& tensor,
                                                  const ContextCollectives& context,
                                                  const ExpertCollectives& expert, const Scenario& scenario);
  // What one collective takes of those that GPUs which share layers, sequences or experts have within passes.
  TensorCollectives read_tensor_times(const SharedCluster& of, Scenario& scenario);
  ContextCollectives read_context_times(const SharedCluster& of, Scenario& scenario);
  ExpertCollectives read_expert_times(const SharedCluster& of, Scenario& scenario);
  // Of those that `groups_of` names, all at once.
  std::shared_ptr<CollectiveCost> cost_within_passes(const SharedCluster& of, CommunicatorAxis axis,
                                                     std::vector<std::vector<int>> (Places::*groups_of)()
                                                         const,
                                                     Scenario& scenario);
  std::shared_ptr<Communication> model_communication(const GivenJob& given, const Topology& topology,
                                                     const Collective& collective);
  void settle_model_communication(const GivenJob& given, const Topology& topology,
                                  const Collective& collective, Communication& communication);
  // The strategy along the data axis of such a model. Throws InputError where it is not simulated there.
  void read_data_axis(const GivenJob& given, const DdpOptions& ddp, const ParallelSection& parallel,
                      const Scenario& scenario, ParallelOptions& options);
  // And doubts.
  static void add_network_notes(const GivenJob& given, const Topology& topology,
                                const Communication& communication, Scenario& scenario);
  void read_variability(const GivenJob& given, const RankPlaces& places, Scenario& scenario);
  // Whether Gloo copies between GPUs and hosts here, or NCCL's model says what all-reduces take. Throw
  // InputError when the section asks for something else.
  static bool uses_gloo(const GivenJob& given, const Topology& topology, const Collective& collective);
  static bool uses_nccl(const GivenJob& given, const Topology& topology, const Collective& collective);
  // Throws InputError (without a place) where more than one group communicates.
  static void add_gloo_model(const GivenJob& given, const Topology& topology, Communication& communication);
  static void add_gloo_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
                             const Communication& communication, std::vector<Note>& notes);
  std::shared_ptr<const Topology> find_topology(const GivenJob& given);
  // What `collective.nccl` leaves NCCL to choose from.
  static nccl::Allowed allowed_of(const GivenJob& given);
  [[nodiscard]] std::optional<std::string> calibration_of(const GivenJob& given) const;
  void add_nccl_models(const GivenJob& given, const NcclPlatform& platform, Communication& communication);
  static std::vector<std::vector<int>> mesh_of(const GivenJob& given, const Collective& collective,
                                               std::span<const int> gpu_of_rank,
                                               Communication& communication);
  // The links of a what-if, and of `collective.scale` where they say what collectives take.
  [[nodiscard]] LinkScale link_scale(const GivenJob& given, const Topology& topology,
                                     const Collective& collective) const;
  // `collective.scale` where a model says it, which must know all of it.
  static void scale_models(const GivenJob& given, Communication& communication);
  // Throws InputError where links are shared, whose bandwidth a model does not scale.
  static void check_scale(const GivenJob& given, const Communication& communication);
  ClusterTraffic make_traffic(const GivenJob& given, const Topology& topology, const Collective& collective);
  // Between workers and parameter servers.
  void add_servers(const GivenJob& given, const Topology& topology, const Collective& collective,
                   const Slowdowns& slowdowns, std::vector<int> gpu_of_rank, ClusterTraffic& traffic);
  ClusterTraffic make_measured_traffic(const GivenJob& given, const Topology* topology);

  std::string path_;
  LinkScale links_;
  std::map<std::string, std::shared_ptr<const LayerTrace>> traces_;
  std::map<std::pair<const LayerTrace*, Rescale>, std::shared_ptr<const LayerTrace>> rescaled_traces_;
  std::map<std::pair<const LayerTrace*, double>, std::shared_ptr<const LayerTrace>> scaled_traces_;
  std::map<std::pair<std::string, std::string>, Software> software_;  // by path and the GPU's name
  // By the sections `workload` and `optimizer`, the GPU and whether the strategy is sharded.
  using Sections = std::vector<config::Value>;
  std::map<std::tuple<Sections, const GpuDescription*, bool>, std::shared_ptr<const ModelWorkload>> models_;
  // Of traces_ on gpus_.
  std::map<std::pair<const LayerTrace*, const GpuDescription*>, std::vector<Note>> notes_;
  // By file, and what is different from it.
  std::map<std::pair<std::string, std::vector<config::Entry>>, std::shared_ptr<const Topology>> topologies_;
  KnownParts parts_;  // of models
  // Where presets and files are, by kind, name and whether it was given by --set.
  mutable std::map<std::tuple<PresetKind, std::string, bool>, std::string> paths_;
  // Between a host and its GPUs, all of which copy.
  std::map<std::shared_ptr<const Communication>, std::optional<BytesPerSecond>> copy_bandwidths_;
  std::map<std::string, std::shared_ptr<const MeasuredTable>> tables_;
  std::map<std::string, std::shared_ptr<const GpuDescription>> gpus_;
  std::map<std::string, std::shared_ptr<const nccl::Calibration>> calibrations_;
  // By the sections they were read from, and what else decides: points that differ in their buckets only have
  // them in common.
  static Sections sections(const GivenJob& given, std::initializer_list<std::string_view> paths);
  // And the strategy's communicators, with the ranks of a shard group; how many servers, and whether they are
  // dedicated.
  std::map<std::tuple<const Topology*, std::vector<CommunicatorUse>, std::optional<int>, std::pair<int, bool>,
                      Sections>,
           ClusterTraffic>
      clusters_;
  // By their topology, the degrees and the axis; and what they take together.
  std::map<std::tuple<const Topology*, Parallelism, std::string, Sections>,
           std::pair<std::shared_ptr<const Communication>, std::shared_ptr<CollectiveCost>>>
      groups_within_passes_;
  // Their clusters, without groups; and what is exchanged there, with the groups of each stage's program.
  std::map<std::pair<const Topology*, Sections>, std::shared_ptr<Communication>> clusters_of_models_;
  std::map<std::tuple<const Communication*, Parallelism, std::vector<int>, std::vector<CommunicatorUse>,
                      std::vector<PipelineChannel>>,
           std::pair<std::shared_ptr<const Communication>, std::vector<std::vector<std::size_t>>>>
      channels_of_models_;
  // The last gradient's spread and time, that of ranks and nodes.
  std::map<std::tuple<Seconds, Seconds, double, double, Sections>, std::shared_ptr<const SampledRanks>>
      sampled_;
};

}  // namespace ddpsim
