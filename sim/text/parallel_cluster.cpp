// The GPUs of a job that share copies of a model: who exchanges what with whom.
#include <algorithm>
#include <numeric>
#include <set>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/cost/collective_cost.hpp"
#include "sim/mesh/mesh.hpp"
#include "sim/text/cluster_section.hpp"
#include "sim/text/override_checks.hpp"
#include "sim/text/parallel_section.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim {
namespace {

using config::Value;
using Kind = PipelineChannel::Kind;

void refuse(const Value* value, const char* what) {
  if (value)
    throw InputError(value->span,
                     fmt::format("{} of a job whose GPUs share the model is not simulated", what),
                     "remove it");
}

// rank = tensor + t (data + d stage): Megatron's order.
class Places {
 public:
  Places(const Parallelism& degrees, const Cluster& cluster, std::vector<int> gpu_of_rank)
      : degrees_(degrees), cluster_(cluster), gpu_of_rank_(std::move(gpu_of_rank)) {}

  [[nodiscard]] int rank(int tensor, int data, int stage) const {
    return tensor + degrees_.tensor * (data + degrees_.data * stage);
  }
  [[nodiscard]] int gpu(int tensor, int data, int stage) const {
    return gpu_of_rank_[static_cast<std::size_t>(rank(tensor, data, stage))];
  }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpu_of_rank_; }
  [[nodiscard]] std::vector<int> tensor_group(int data, int stage) const {
    std::vector<int> group;
    for (int t = 0; t < degrees_.tensor; ++t) group.push_back(gpu(t, data, stage));
    return group;
  }
  // Copies of the model that share a node with that one, in any stage, itself first: what they send goes over
  // the same NICs.
  [[nodiscard]] std::vector<int> beside(int replica) const {
    std::vector<int> beside{replica};
    for (int data = 0; data < degrees_.data; ++data) {
      bool shares = false;
      for (int stage = 0; stage < degrees_.pipeline && !shares; ++stage)
        shares = node(replica, stage) == node(data, stage);
      if (shares && data != replica) beside.push_back(data);
    }
    return beside;
  }
  // The first copy whose stages `from` and `to` are on different nodes; else the first.
  [[nodiscard]] int farthest(int from, int to) const {
    for (int data = 0; data < degrees_.data; ++data)
      if (node(data, from) != node(data, to)) return data;
    return 0;
  }
  // Copy and stage of the tensor-parallel group that is spread over most nodes; the first of them.
  [[nodiscard]] std::pair<int, int> widest() const {
    std::pair<int, int> widest;
    std::size_t most = 0;
    for (int stage = 0; stage < degrees_.pipeline; ++stage)
      for (int data = 0; data < degrees_.data; ++data) {
        std::set<int> nodes;
        for (int gpu : tensor_group(data, stage)) nodes.insert(cluster_.node_of(gpu));
        if (nodes.size() > most) most = nodes.size(), widest = {data, stage};
      }
    return widest;
  }
  [[nodiscard]] int node_of(int rank) const {
    return cluster_.node_of(gpu_of_rank_[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] std::vector<int> ranks_on(int node) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(gpu_of_rank_.size()); ++rank)
      if (node_of(rank) == node) ranks.push_back(rank);
    return ranks;
  }
  [[nodiscard]] std::vector<int> ranks_of_stage(int stage) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < degrees_.tensor * degrees_.data; ++rank)
      ranks.push_back(rank + degrees_.tensor * degrees_.data * stage);
    return ranks;
  }

 private:
  [[nodiscard]] int node(int data, int stage) const { return cluster_.node_of(gpu(0, data, stage)); }
  const Parallelism& degrees_;
  const Cluster& cluster_;
  std::vector<int> gpu_of_rank_;
};

// GPUs of the tensor-parallel group that is spread over most nodes, and of those of its stage beside it: all
// do the same at once, and the step waits for the slowest.
std::vector<std::vector<int>> tensor_groups(const Places& places) {
  auto [replica, stage] = places.widest();
  std::vector<std::vector<int>> groups;
  for (int data : places.beside(replica)) groups.push_back(places.tensor_group(data, stage));
  return groups;
}

// What of a sharded strategy's options decides who communicates with whom.
std::vector<CommunicatorUse> communicators_of_axis(const DataAxis& axis) {
  if (!axis.sharded) return {};
  auto uses = communicators_of(axis.sharded->strategy, axis.sharded->fsdp, 1);
  // Groups of shards differ in size, and so do their communicators.
  if (auto group = axis.sharded->fsdp.shard_group) uses.front().axis += fmt::format(" of {}", *group);
  return uses;
}

std::vector<Operation> operations_of(Kind kind, const DataAxis& axis) {
  if (kind == Kind::messages) return {Operation::send_recv};
  std::vector<Operation> operations{Operation::all_reduce};
  if (kind != Kind::data) return operations;
  if (axis.reduction != Operation::all_reduce) operations = {axis.reduction};
  if (axis.gathers) operations.push_back(Operation::all_gather);
  return operations;
}

// One axis a channel (the data axis one a stage). By stage and channel: a group that stands for the stage's.
class ChannelGroups {
 public:
  ChannelGroups(const Places& places, const ParallelOptions& options, Communication& communication)
      : places_(places), options_(options), communication_(communication) {
    communication_.axes.clear();
  }

  std::vector<std::vector<std::size_t>> add(const std::vector<PipelineChannel>& channels) {
    for (const auto& channel : channels) add(channel);
    std::vector<std::vector<std::size_t>> of_stage;
    int stages = options_.degrees.pipeline;
    for (int stage = 0; stage < stages; ++stage) {
      auto& mine = of_stage.emplace_back();
      for (auto c : channels_of_rank(channels, stage, stages))
        mine.push_back(first_[c][channels[c].kind == Kind::data ? static_cast<std::size_t>(stage) : 0]);
    }
    return of_stage;
  }

 private:
  void add(const PipelineChannel& channel) {
    const auto& [tensor, data, pipeline, sequence] = options_.degrees;
    auto& first = first_.emplace_back();
    switch (channel.kind) {
      case Kind::messages:
        first = {begin(channel, "pipeline")};
        add_pairs(channel.from, channel.to);
        return;
      case Kind::ends:
        first = {begin(channel, "embedding")};
        add_pairs(0, pipeline - 1);
        return;
      case Kind::all:
        first = {begin(channel, "all")};
        group(places_.gpus());
        return;
      case Kind::data:
        for (int stage = 0; stage < pipeline; ++stage) {
          first.push_back(begin(channel, "data"));
          for (int t = 0; t < tensor; ++t) {
            std::vector<int> gpus;
            for (int d = 0; d < data; ++d) gpus.push_back(places_.gpu(t, d, stage));
            group(std::move(gpus));
          }
        }
        return;
    }
  }

  std::size_t begin(const PipelineChannel& channel, const char* name) {
    communication_.axes.push_back({.name = name,
                                   .operations = operations_of(channel.kind, options_.data_axis),
                                   .first = communication_.groups.size()});
    return communication_.groups.size();
  }
  void group(std::vector<int> gpus) {
    communication_.groups.push_back(std::move(gpus));
    communication_.labels.push_back(static_cast<int>(communication_.axes.size()) - 1);
  }
  // Of GPUs with the same place in two stages; those of copies on the same nodes send at the same time.
  void add_pairs(int from, int to) {
    for (int d : places_.beside(places_.farthest(from, to)))
      for (int t = 0; t < options_.degrees.tensor; ++t)
        group({places_.gpu(t, d, from), places_.gpu(t, d, to)});
  }

  const Places& places_;
  const ParallelOptions& options_;
  Communication& communication_;
  std::vector<std::vector<std::size_t>> first_;  // groups, by channel; of the data axis by stage
};

// Of a strategy that shards a model of one stage: an axis a communicator of its program, each for every GPU
// of a tensor-parallel group. By communicator: the first group.
std::vector<std::size_t> add_sharded(const Places& places, const ParallelOptions& options,
                                     Communication& communication) {
  const auto& [strategy, fsdp, zero] = *options.data_axis.sharded;
  communication.axes.clear();
  std::vector<std::size_t> mine;
  int data = options.degrees.data, shards = fsdp.shard_group.value_or(data);
  for (const auto& use : communicators_of(strategy, fsdp, 1)) {
    bool is_replica = use.joined == Joined::replicas;
    if (is_replica && shards == data) continue;
    communication.axes.push_back(
        {.name = use.axis, .operations = use.operations, .first = communication.groups.size()});
    mine.push_back(communication.groups.size());
    int size = is_replica ? data / shards : shards, step = is_replica ? shards : 1;
    for (int t = 0; t < options.degrees.tensor; ++t)
      for (int group = 0; group < data / size; ++group) {
        auto& gpus = communication.groups.emplace_back();
        int first = is_replica ? group : group * shards;
        for (int i = 0; i < size; ++i) gpus.push_back(places.gpu(t, first + i * step, 0));
        communication.labels.push_back(static_cast<int>(communication.axes.size()) - 1);
      }
  }
  return mine;
}

std::vector<AlikeNodes> whole_nodes(const std::vector<RankPlace>& places) {
  std::vector<int> ranks(places.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return alike_nodes(ranks, places);
}

// By rank.
std::vector<RankPlace> places_of(const Places& places, const Slowdowns& slowdowns) {
  std::vector<RankPlace> of_rank(places.gpus().size());
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    of_rank[rank].node = places.node_of(static_cast<int>(rank));
  for (auto [rank, slowdown] : slowdowns) of_rank[static_cast<std::size_t>(rank)].slowdown = slowdown;
  return of_rank;
}

// A class of ranks for each stage, as slow as the slowest that is known there. `of_stage`: their
// communicators.
RankGroup job_of(const Places& places, const Parallelism& degrees, const std::vector<RankPlace>& rank_places,
                 const std::vector<std::vector<std::size_t>>& of_stage) {
  RankGroup job{.ranks = degrees.data, .rank_classes = {}, .offset = {}};
  job.nodes = whole_nodes(rank_places);
  for (std::size_t stage = 0; stage < of_stage.size(); ++stage) {
    auto ranks = places.ranks_of_stage(static_cast<int>(stage));
    RankClass all{ranks.front(), static_cast<int>(ranks.size()), 1, of_stage[stage]};
    all.program = stage;
    all.nodes = alike_nodes(ranks, rank_places);
    for (int rank : ranks)
      all.slowdown = std::max(all.slowdown, rank_places[static_cast<std::size_t>(rank)].slowdown);
    job.rank_classes.push_back(std::move(all));
  }
  return job;
}

TensorCollectives time_tensor_collectives(CollectiveCost& cost, const ModelStep& step,
                                          const Parallelism& degrees) {
  auto tokens = static_cast<double>(step.step.shape.tokens());
  Bytes values(tokens * static_cast<double>(step.model.hidden) * activation_bytes(step.step.precision));
  TensorCollectives times;
  auto of = [&](Operation operation) { return cost.alone(operation, values).queued; };
  times.all_reduce = of(Operation::all_reduce);
  times.small = cost.alone(Operation::all_reduce, Bytes(4 * tokens)).queued;
  if (degrees.sequence) {
    times.all_gather = of(Operation::all_gather);
    times.reduce_scatter = of(Operation::reduce_scatter);
  }
  for (auto* time : {&times.all_reduce, &times.all_gather, &times.reduce_scatter, &times.small})
    *time = step.software.tensor_scale * *time;
  return times;
}

}  // namespace

std::shared_ptr<Communication> ScenarioReader::model_communication(const Topology& topology,
                                                                   const ClusterSection& section,
                                                                   const Collective& collective) {
  auto communication = std::make_shared<Communication>();
  communication->options = collective.options;
  communication->cluster = build_cluster(topology, section, links_, section.world_size);
  communication->axes.clear();
  return communication;
}

void ScenarioReader::settle_model_communication(const Topology& topology, const ClusterSection& section,
                                                const Collective& collective, Communication& communication) {
  try {
    if (uses_nccl(topology, collective)) {
      check_nccl_reads(section.overrides, topology, section.world_size);
      add_nccl_models(*topology.nccl, collective.nccl, communication);
    }
    if (!communication.is_settled()) fold_traffic(communication);
  } catch (const InputError& error) {
    throw error.at(collective.section ? collective.place : section.topology->span);
  }
}

void ScenarioReader::settle_batch(const ParallelSection& parallel, const Value& cluster, const Value* ddp,
                                  const Scenario& scenario, DdpOptions& options) {
  if (!parallel.global_batch) return;
  if (const auto* steps = ddp ? ddp->find("accumulation_steps") : nullptr)
    throw InputError(steps->value.span, "batch.global says how many micro-batches there are",
                     "remove ddp.accumulation_steps, or batch");
  auto micro_batch = scenario.trace->metadata.batch_size;
  if (!micro_batch)
    throw InputError(parallel.batch_value->span, "the trace does not say how many samples a micro-batch has",
                     "use ddp.accumulation_steps");
  const auto* world = cluster.find("world_size");
  auto degrees = degrees_of(
      parallel, world ? static_cast<int>(config::as_integer(1, kLargestWorldSize)(world->value)) : 1);
  options.accumulation_steps = *micro_batches_of(parallel, degrees.data, *micro_batch);
}

ParallelOptions ScenarioReader::shared_options(const Value& root, const ParallelSection& parallel,
                                               const Parallelism& degrees, const DdpOptions& options,
                                               Scenario& scenario) {
  if (!scenario.model_step)
    throw InputError(parallel.place(),
                     "a recorded trace, or a list of layers, says nothing of how its layers split",
                     "name a transformer: workload: {model: llama-2-7b, micro_batch: 1}");
  auto axis = read_data_axis(root, scenario.plan.strategy, options, parallel, degrees.data, scenario);
  return parallel_options(parallel, degrees, *scenario.model_step, axis, options.accumulation_steps);
}

std::shared_ptr<const ParallelStep> ScenarioReader::shared_step(const Value& root,
                                                                const ParallelSection& parallel,
                                                                const ParallelOptions& options,
                                                                const TensorCollectives& tensor,
                                                                const Scenario& scenario) {
  try {
    return std::make_shared<const ParallelStep>(make_parallel_step(*scenario.model_step, options, tensor));
  } catch (const InputError& error) {
    const auto* fsdp = root.find("fsdp");
    const auto* units = fsdp ? fsdp->value.find("units") : nullptr;
    throw error.at(units ? units->value.span : parallel.place());
  }
}

TensorCollectives ScenarioReader::read_tensor_times(const ClusterSection& section,
                                                    const Collective& collective, const Value& cluster_value,
                                                    std::vector<std::vector<int>> gpus,
                                                    const Parallelism& degrees,
                                                    const std::shared_ptr<Communication>& cluster,
                                                    Scenario& scenario) {
  if (degrees.tensor == 1) return {};
  auto topology = find_topology(*section.topology);
  auto& known = tensor_groups_[{topology.get(), degrees.tensor, degrees.data, degrees.pipeline,
                                degrees.sequence, sections({&cluster_value, collective.section})}];
  if (!known) {
    auto groups = std::make_shared<Communication>(*cluster);
    groups->axes = {{.name = "tensor", .operations = {Operation::all_reduce}}};
    if (degrees.sequence)
      groups->axes.front().operations = {Operation::all_reduce, Operation::all_gather,
                                         Operation::reduce_scatter};
    groups->labels.assign(gpus.size(), 0);
    groups->groups = std::move(gpus);
    settle_model_communication(*topology, section, collective, *groups);
    known = std::move(groups);
  }
  add_nccl_notes(*known, collective, scenario.notes);
  auto costs = group_costs(known);
  auto widest = std::find_if(costs.begin(), costs.end(), [](const GroupCost& cost) {
    return std::binary_search(cost.groups.begin(), cost.groups.end(), std::size_t{0});
  });
  return time_tensor_collectives(*widest->cost, *scenario.model_step, degrees);
}

std::shared_ptr<const RankPlaces> ScenarioReader::read_shared_model(const Value& root,
                                                                    const Collective& collective,
                                                                    const ParallelSection& parallel,
                                                                    const DdpOptions& options,
                                                                    Scenario& scenario) {
  const Value& cluster_value = root.find("cluster")->value;
  ClusterSection section(cluster_value);
  const auto* stragglers_entry = root.find("workload")->value.find("stragglers");
  const Value* stragglers = stragglers_entry ? &stragglers_entry->value : nullptr;
  refuse(section.groups, "cluster.groups");
  refuse(section.background, "background traffic");
  if (collective.table || collective.backend == Backend::gloo || collective.workers > 1 || !section.topology)
    throw InputError(collective.section && section.topology ? collective.place : cluster_value.span,
                     "GPUs that share a model communicate over a topology, with NCCL or plain rings",
                     "add cluster.topology, and leave measured tables, Gloo and workers out");
  scenario.world_size = section.world_size;
  scenario.price = section.price;
  auto topology = find_topology(*section.topology);
  auto degrees = degrees_of(parallel, section.world_size);
  auto shared = shared_options(root, parallel, degrees, options, scenario);
  auto& known_cluster = clusters_of_models_[{topology.get(), sections({&cluster_value, collective.section})}];
  if (!known_cluster) known_cluster = model_communication(*topology, section, collective);
  const auto& cluster = *known_cluster->cluster;
  Places places(degrees, cluster,
                place_ranks(read_placement(section.placement), cluster, section.world_size));
  auto tensor = read_tensor_times(section, collective, cluster_value, tensor_groups(places), degrees,
                                  known_cluster, scenario);
  settle_tensor_overlap(parallel, scenario.model_step->software, degrees, tensor);
  auto step = shared_step(root, parallel, shared, tensor, scenario);
  auto channels = step->sharded ? std::vector<PipelineChannel>() : pipeline_channels(step->plan);
  auto& [communication, of_stage] =
      channels_of_models_[{known_cluster.get(), degrees, shared.data_axis.reduction, shared.data_axis.gathers,
                           communicators_of_axis(shared.data_axis), channels}];
  if (!communication) {
    auto groups = std::make_shared<Communication>(*known_cluster);
    if (step->sharded)
      of_stage.push_back(add_sharded(places, shared, *groups));
    else
      of_stage = ChannelGroups(places, shared, *groups).add(channels);
    settle_model_communication(*topology, section, collective, *groups);
    communication = std::move(groups);
  }
  add_nccl_notes(*communication, collective, scenario.notes);
  for (auto& note : cluster_notes(*topology, cluster)) scenario.notes.push_back(std::move(note));

  auto rank_places = places_of(places, read_stragglers(stragglers, section.world_size,
                                                       [&](int node) { return places.ranks_on(node); }));
  scenario.groups = {job_of(places, degrees, rank_places, of_stage)};
  scenario.ddp = options;
  scenario.plan.accumulation_steps = options.accumulation_steps;
  if (scenario.plan.strategy == Strategy::ddp) scenario.plan.bucket_cap = options.bucket_cap;
  if (shared.shape.is_dual())
    scenario.notes.push_back(
        {"dualpipe-copies",
         "DualPipe's ranks hold every stage twice, and adding up the two copies' gradients is left out"});
  scenario.communication = communication;
  scenario.parallel = std::move(step);
  return std::make_shared<const RankPlaces>(RankPlaces{std::move(rank_places), true});
}

}  // namespace ddpsim
