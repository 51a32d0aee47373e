#include "sim/resolve/shared_model.hpp"

#include <algorithm>
#include <numeric>

#include "sim/cost/collective_cost.hpp"
#include "sim/resolve/cluster_mesh.hpp"
#include "sim/resolve/cluster_section.hpp"
#include "sim/resolve/override_checks.hpp"
#include "sim/resolve/placement_notes.hpp"
#include "sim/resolve/plausibility.hpp"

namespace ddpsim {
namespace {

void refuse(const GivenJob& given, const char* key, const char* what) {
  throw InputError(given.at(key),
                   fmt::format("{} of a job whose GPUs share the model is not simulated", what), "remove it");
}

std::vector<AlikeNodes> whole_nodes(const std::vector<RankPlace>& places) {
  std::vector<int> ranks(places.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return alike_nodes(ranks, places);
}

// By rank; ranks of a stage are a group, of which the slowest decides.
std::vector<RankPlace> places_of(const Places& places, const Slowdowns& slowdowns, int stages) {
  std::vector<RankPlace> of_rank(places.gpus().size());
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    of_rank[rank].node = places.node_of(static_cast<int>(rank));
  for (int stage = 0; stage < stages; ++stage)
    for (int rank : places.ranks_of_stage(stage)) of_rank[static_cast<std::size_t>(rank)].group = stage;
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

// What a strategy's communicators and a pipeline's channels exchange, and the groups of each stage's program.
struct Channels {
  std::shared_ptr<const Communication> communication;
  std::vector<std::vector<std::size_t>> of_stage;
};
struct ChannelsKey {
  using Value = Channels;
  SharedClusterKey cluster;
  Parallelism degrees;
  std::vector<int> joined;
  std::vector<CommunicatorUse> communicators;
  std::vector<PipelineChannel> channels;
  bool is_on_links;  // simulated, even where a model knows what it takes
  auto operator<=>(const ChannelsKey&) const = default;
  static std::size_t kept(const Channels& channels) { return kept_by(*channels.communication); }
};

Channels make_channels(Files& files, const SharedCluster& of, const ParallelOptions& options,
                       const ChannelsKey& key) {
  auto groups = std::make_shared<Communication>(*of.cluster);
  Channels made{groups, add_channels(of.places, options, key.channels, *groups)};
  settle_shared_groups(files, of, *groups);
  if (!groups->folded && key.is_on_links) fold_traffic(*groups);
  return made;
}

std::shared_ptr<const Communication> shared_cluster(Files& files, const GivenJob& given,
                                                    const Topology& topology, const Collective& collective,
                                                    const SharedClusterKey& key) {
  return files.once(key, [&] {
    auto communication = std::make_shared<Communication>();
    communication->options = collective.options;
    communication->cluster = build_cluster(topology, given, link_scale(files, given, topology, collective),
                                           gpus_of(topology, given));
    communication->axes.clear();
    return communication;
  });
}

// Of a plain schedule nobody but its links says what it takes.
std::vector<PipelineChannel> channels_of(const SharedCluster& of, const PipelinePlan& plan) {
  auto channels = pipeline_channels(plan);
  if (uses_nccl(of.given, of.topology, of.collective))
    for (auto& channel : channels)
      if (auto message = message_of(plan, channel)) channel.is_traffic = of.places.is_traffic(*message);
  return channels;
}

void check_refused(const GivenJob& given, const Collective& collective) {
  const auto& section = given.job.cluster;
  if (given.has("cluster.groups")) refuse(given, "cluster.groups", "cluster.groups");
  if (given.has("cluster.background")) refuse(given, "cluster.background", "background traffic");
  // Of groups that do the same one stands for all, and each is hashed onto cables of its own.
  if (section.hashing) refuse(given, "cluster.hashing", "cluster.hashing");
  if (collective.table || collective.backend != Backend::nccl || collective.workers > 1 || !section.topology)
    throw InputError(given.has("collective") && section.topology ? collective.place : given.at("cluster"),
                     "GPUs that share a model communicate over a topology, with NCCL or plain rings",
                     "add cluster.topology, and leave measured tables, Gloo, MPI and workers out");
}

void add_step_notes(const ParallelOptions& shared, std::vector<Note>& notes) {
  if (shared.shape.is_dual())
    notes.push_back(
        {"dualpipe-copies",
         "DualPipe's ranks hold every stage twice, and adding up the two copies' gradients is left out"});
  if (shared.degrees.context > 1)
    notes.push_back(
        {"context-unexplained",
         "published steps that share sequences take longer than predicted, by a tenth on 2 ranks and half as "
         "long again on 4 and 8 (docs/accuracy.md); what they lose is not known"});
}

}  // namespace

void settle_shared_groups(Files& files, const SharedCluster& of, Communication& communication) {
  const auto& given = of.given;
  try {
    if (uses_nccl(given, of.topology, of.collective)) {
      check_nccl_reads(given, of.topology);
      add_nccl_models(files, given, *of.topology.nccl, communication);
    }
    scale_models(given, communication);
    if (!communication.is_settled()) {
      check_scale(given, communication);
      fold_traffic(communication);
    }
  } catch (const InputError& error) {
    throw error.at(given.has("collective") ? of.collective.place : given.at("cluster.topology"));
  }
}

void settle_batch(const GivenJob& given, const ParallelSection& parallel, const Scenario& scenario,
                  DdpOptions& options) {
  if (!parallel.global_batch) return;
  if (given.has("ddp.accumulation_steps"))
    throw InputError(given.at("ddp.accumulation_steps"), "batch.global says how many micro-batches there are",
                     "remove ddp.accumulation_steps, or batch");
  auto micro_batch = scenario.trace->metadata.batch_size;
  if (!micro_batch)
    throw InputError(given.at("batch"), "the trace does not say how many samples a micro-batch has",
                     "use ddp.accumulation_steps");
  auto degrees = degrees_of(parallel, given.job.cluster.world_size);
  options.accumulation_steps = *micro_batches_of(parallel, degrees.data, *micro_batch);
}

// Without a network only the nodes' sizes count.
void settle_shard_group(Files& files, const GivenJob& given, StrategyChoice& choice) {
  if (!choice.strategy->traits.shards_within_groups) return;
  try {
    if (!choice.shards && given.job.cluster.topology) {
      auto described = find_topology(files, given);
      auto built = build_cluster(*described, given, files.links(), gpus_of(*described, given));
      auto gpus = place_job(given, *described, *built);
      choice.shards = shard_group_ranks(std::nullopt, *built, gpus);
    }
    if (!choice.shards)
      throw InputError("without a topology nothing says which ranks a node holds",
                       "add cluster.topology, or write fsdp: {shard_group: RANKS}");
    check_shard_group(*choice.shards, given.job.cluster.world_size);
  } catch (const InputError& error) {
    throw error.at(shard_group_place(given));
  }
}

ParallelOptions shared_options(Files& files, const GivenJob& given, const ParallelSection& parallel,
                               const DdpOptions& options, Scenario& scenario) {
  if (!scenario.model_step)
    throw InputError(parallel.place(),
                     "a recorded trace, or a list of layers, says nothing of how its layers split",
                     "name a transformer: workload: {model: llama-2-7b, micro_batch: 1}");
  auto degrees = degrees_of(parallel, given.job.cluster.world_size);
  auto settled =
      with_experts(parallel, degrees, *scenario.model_step, options.accumulation_steps, scenario.notes);
  auto shared = parallel_options(parallel, settled, *scenario.model_step, options.accumulation_steps);
  settle_data_axis(files, given, options, parallel, scenario, shared);
  return shared;
}

std::shared_ptr<const ParallelStep> shared_step(Files& files, const GivenJob& given,
                                                const ParallelSection& parallel,
                                                const ParallelOptions& options, const WithinPasses& within,
                                                const Scenario& scenario) {
  try {
    return std::make_shared<const ParallelStep>(make_parallel_step(
        *scenario.model_step, options, files.parts(), within.tensor, within.context, within.expert));
  } catch (const InputError& error) {
    throw error.at(error.subject().empty() ? parallel.place() : place_of_plan_error(given, error));
  }
}

std::shared_ptr<const RankPlaces> resolve_shared_model(Files& files, const GivenJob& given,
                                                       const Collective& collective,
                                                       const ParallelSection& parallel,
                                                       const DdpOptions& options, Scenario& scenario) {
  check_refused(given, collective);
  const auto& section = given.job.cluster;
  scenario.world_size = section.world_size;
  scenario.price = section.price;
  auto topology = find_topology(files, given);
  auto shared = shared_options(files, given, parallel, options, scenario);
  const auto& degrees = shared.degrees;
  SharedClusterKey key{topology_key(files, given), texts_of(given, {"cluster", "collective"})};
  auto known_cluster = shared_cluster(files, given, *topology, collective, key);
  const auto& cluster = *known_cluster->cluster;
  auto gpu_of_rank = place_job(given, *topology, cluster);
  std::ranges::move(placement_notes(given, *topology, cluster, gpu_of_rank),
                    std::back_inserter(scenario.notes));
  Places places(degrees, cluster, std::move(gpu_of_rank));
  SharedCluster of{given, collective, *topology, key, known_cluster, places};
  auto within = find_within_passes(files, of, scenario);
  settle_tensor_overlap(parallel, scenario.model_step->software, degrees, within.tensor);
  auto step = shared_step(files, given, parallel, shared, within, scenario);
  ChannelsKey channels{key,
                       degrees,
                       step->plan.joined,
                       shared.choice.strategy->communicators(shared.choice),
                       channels_of(of, step->plan),
                       given.job.engine.fidelity.value_or(Fidelity::closed_form) != Fidelity::closed_form};
  const auto& made = files.once(channels, [&] { return make_channels(files, of, shared, channels); });
  add_network_notes(given, *topology, *made.communication, scenario);
  std::ranges::move(cluster_notes(*topology, cluster), std::back_inserter(scenario.notes));

  auto slowdowns = read_stragglers(given, [&](int node) { return places.ranks_on(node); });
  auto rank_places = places_of(places, slowdowns, degrees.pipeline);
  scenario.groups = {job_of(places, degrees, rank_places, made.of_stage)};
  scenario.ddp = options;
  scenario.plan.accumulation_steps = options.accumulation_steps;
  if (scenario.is(&StrategyTraits::is_ddp)) {
    scenario.plan.bucket_cap = options.bucket_cap;
    scenario.plan.comm_hook = options.comm_hook;
  }
  add_step_notes(shared, scenario.notes);
  scenario.communication = made.communication;
  scenario.parallel = std::move(step);
  return std::make_shared<const RankPlaces>(RankPlaces{std::move(rank_places), true});
}

}  // namespace ddpsim
