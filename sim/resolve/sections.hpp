#pragma once
// What the sections of a job mean by themselves. Each throws InputError with the place and a hint.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

// What the job says to its strategy, where layers are computed as the model says, or as a trace's gradients
// are.
StrategyChoice choice_of(Files& files, const GivenJob& given, const DdpOptions& ddp,
                         const Scenario& scenario);
// The plan of the strategy, and what is sharded.
void plan_strategy(const GivenJob& given, StrategyChoice choice, Scenario& scenario);
// What strategies find wrong they find without a place: that of the key they name, or of the same in section
// `ddp`, then the section.
const SourceSpan& place_of_plan_error(const GivenJob& given, const InputError& error);

// `workload.stragglers`: the slowdown of each rank that is named, itself or by its node. `ranks_of_node` is
// empty where there are no nodes to name.
using Slowdowns = std::map<int, double>;
Slowdowns read_stragglers(const GivenJob& given,
                          const std::function<std::vector<int>(int node)>& ranks_of_node);

// More than so many have the name of the first.
inline constexpr std::size_t kMostNamedStragglers = 8;

// The ranks by slowdown, each class named by its lowest rank.
std::vector<RankClass> classify(std::span<const int> ranks, const Slowdowns& slowdowns);

// The nodes of these ranks, by what they hold of them. `places` is by rank.
std::vector<AlikeNodes> alike_nodes(std::span<const int> ranks, std::span<const RankPlace> places);

// `cluster.groups`: who reduces gradients with whom. Every rank is in exactly one group.
struct GroupSection {
  std::vector<int> ranks;
  Seconds offset;
};
std::vector<GroupSection> read_groups(const GivenJob& given);
std::vector<GroupSection> one_group(int world_size);

// `cluster.background`.
std::vector<BackgroundFlow> read_background(const GivenJob& given, const Cluster& cluster);

ValidationSettings validation_settings(const Files& files, const GivenJob& given);

// `physics` and `spread`, for what the plan's implementation does. `gpu` (null: unknown) is the GPU of
// `cluster.gpu`: its range of interference holds where none is given, its copies where no bandwidth is.
Physics read_physics(const Files& files, const GivenJob& given, const GpuDescription* gpu,
                     const ReductionPlan& plan, const DdpOptions& options);

// What DistributedDataParallel can do besides (communication hooks): refuses it where it is not simulated,
// and notes what is left out. After plan and physics are read.
void check_ddp_extras(const GivenJob& given, Scenario& scenario);
// `ddp.process_groups` above one. Before the cluster is read.
void check_process_groups(const GivenJob& given);

// `variability`, of which a trace says how much it was itself.
Variability variability_of(Files& files, const GivenJob& given, const LayerTrace& trace);

// `workload.rescale`: the trace as an estimate for another GPU, by a stated factor or from what the two can
// do.
struct Rescale {
  std::optional<double> factor;  // of all times; then nothing else counts
  KnownGpu from, to;
  DType dtype = DType::float32;  // what the layers compute in

  auto operator<=>(const Rescale&) const = default;
};
using GpuLoader = std::function<KnownGpu(const Located& named)>;
// `cluster_gpu` (none: unknown) is the cluster's GPU, `to` where the section does not say it.
Rescale read_rescale(const GivenJob& given, const KnownGpu& cluster_gpu, const GpuLoader& load);
// From a GPU to itself nothing changes.
LayerTrace rescaled(const LayerTrace& trace, const Rescale& rescale);

}  // namespace ddpsim
