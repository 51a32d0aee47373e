#pragma once
// The sections of a scenario file that stand on their own. Each throws InputError with the place and a hint.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/collective/backend.hpp"
#include "sim/config/value.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/program/host.hpp"
#include "sim/program/strategy_plan.hpp"
#include "sim/topology/placement.hpp"

namespace ddpsim {

// `ddp`; null: all defaults. unused_parameters belong to the workload and stay empty.
DdpOptions read_ddp_section(const config::Value* ddp);

// Of strategies, each of which reads one at most.
inline constexpr std::array kStrategySections{"fsdp", "zero", "megatron", "data_parallel",
                                              "parameter_server"};

// Notes on those of them, and on keys of `ddp`, that the strategy does not use.
// Whether a strategy's results can depend on a key: of a section of kStrategySections those of its own only.
bool uses_key(Strategy strategy, std::string_view key);
void check_unused_sections(const config::Value& root, Strategy strategy, std::vector<Note>& notes);
void note_unused_ddp_keys(const config::Value& root, Strategy strategy, std::vector<Note>& notes);

// `fsdp` (null: all defaults). `param_dtype`: what is computed in, and gathered unless the section says
// otherwise.
FsdpOptions read_fsdp_section(const config::Value* fsdp, Strategy strategy, DType param_dtype);

// `zero` and `megatron`, likewise.
ZeroOptions read_zero_section(const config::Value* zero, DType param_dtype);
MegatronOptions read_megatron_section(const config::Value* megatron, DType param_dtype);

// `data_parallel` (null: nothing given), of a replica's micro-batch.
struct DataParallelSection {
  std::optional<Bytes> inputs, outputs;
  std::optional<Seconds> loss, host_forward;
};
DataParallelSection read_data_parallel_section(const config::Value* data_parallel);

// `parameter_server` and `host` (null: all defaults).
ServerOptions read_parameter_server_section(const config::Value* parameter_server);
struct HostSection {
  std::optional<BytesPerSecond> copy_bandwidth;
  double adam_rate = kUsualAdamRate;
};
HostSection read_host_section(const config::Value* host);

// `failures`: of a job that takes checkpoints.
Failures read_failures_section(const config::Value& failures);

// What models are computed in, or a trace's gradients have.
DType computed_in(const Scenario& scenario);

// A number of elements, as DeepSpeed and Megatron count: 5e8 is one.
std::int64_t as_elements(const config::Value& value, std::int64_t least);

// fp32, bf16 or fp16.
DType as_training_dtype(const config::Value& value);

// `workload.stragglers` (null: none): the slowdown of each rank that is named, itself or by its node.
// `ranks_of_node` is empty where there are no nodes to name.
using Slowdowns = std::map<int, double>;
Slowdowns read_stragglers(const config::Value* stragglers, int world_size,
                          const std::function<std::vector<int>(int node)>& ranks_of_node);

// More than so many have the name of the first.
inline constexpr std::size_t kMostNamedStragglers = 8;

// The ranks by slowdown, each class named by its lowest rank.
std::vector<RankClass> classify(std::span<const int> ranks, const Slowdowns& slowdowns);

// The nodes of these ranks, by what they hold of them. `places` is by rank.
std::vector<AlikeNodes> alike_nodes(std::span<const int> ranks, std::span<const RankPlace> places);

// `cluster.groups` (null: all ranks are one group): who reduces gradients with whom. Every rank is in exactly
// one group.
struct GroupSection {
  std::vector<int> ranks;
  Seconds offset;
};
std::vector<GroupSection> read_groups(const config::Value* groups, int world_size);

// `validation` (null: all defaults). `resolve` makes a path in the file one that can be opened.
using PathResolver = std::function<std::string(const config::Value&)>;
ValidationSettings read_validation_section(const config::Value* validation, const PathResolver& resolve);

// `physics` and `spread` (null: nothing given), for what the plan's implementation does. `gpu` (null:
// unknown) is the GPU of `cluster.gpu`: its range of interference holds where none is given, its copies where
// no bandwidth is.
struct PhysicsSections {
  const config::Value* physics = nullptr;  // `none`: textbook physics, whatever the GPU
  const config::Value* spread = nullptr;   // how much GPUs differ
};
Physics read_physics_section(const PhysicsSections& sections, const GpuDescription* gpu,
                             const ReductionPlan& plan, const DdpOptions& options,
                             const PathResolver& resolve);

// What DistributedDataParallel can do besides (communication hooks): refuses it where it is not simulated,
// and notes what is left out. After plan and physics are read.
void check_ddp_extras(const config::Value& root, Backend backend, Scenario& scenario);
// `ddp.process_groups` above one. Before the cluster is read.
void check_process_groups(const config::Value& root, Backend backend, bool is_measured);

// `variability`, of which a trace says how much it was itself.
// `fabric` makes a preset's name or a path the file of a fabric's weather.
using FabricResolver = PathResolver;
Variability read_variability_section(const config::Value& variability, const LayerTrace& trace,
                                     const PathResolver& resolve, const FabricResolver& fabric);

// `workload.rescale`: the trace as an estimate for another GPU, by a stated factor or from what the two can
// do.
struct Rescale {
  std::optional<double> factor;  // of all times; then nothing else counts
  std::shared_ptr<const GpuDescription> from, to;
  DType dtype = DType::float32;  // what the layers compute in

  auto operator<=>(const Rescale&) const = default;
};
using GpuLoader = std::function<std::shared_ptr<const GpuDescription>(const config::Value& path)>;
// `cluster_gpu` (null: unknown) is the cluster's GPU, `to` where the section does not say it.
Rescale read_rescale_section(const config::Value& rescale,
                             const std::shared_ptr<const GpuDescription>& cluster_gpu, const GpuLoader& load);
// From a GPU to itself nothing changes.
LayerTrace rescaled(const LayerTrace& trace, const Rescale& rescale);

// `cluster.placement` (null: packed): packed, round_robin, {random: SEED} or {random_nodes: SEED}.
Placement read_placement(const config::Value* placement);

// `cluster.hashing` (null: none): none, or {seed: SEED}.
std::optional<std::uint64_t> read_hashing(const config::Value* hashing);

// `cluster.background` (null: none).
std::vector<BackgroundFlow> read_background(const config::Value* background, const Cluster& cluster);

}  // namespace ddpsim
