// The GPUs of a job that share copies of a model: who exchanges what with whom.
#include <algorithm>
#include <numeric>

#include "sim/cost/collective_cost.hpp"
#include "sim/text/cluster_section.hpp"
#include "sim/text/override_checks.hpp"
#include "sim/text/parallel_places.hpp"
#include "sim/text/parallel_section.hpp"
#include "sim/text/placement_notes.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/topology_file.hpp"

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

}  // namespace

std::shared_ptr<Communication> ScenarioReader::model_communication(const GivenJob& given,
                                                                   const Topology& topology,
                                                                   const Collective& collective) {
  auto communication = std::make_shared<Communication>();
  communication->options = collective.options;
  communication->cluster =
      build_cluster(topology, given, link_scale(given, topology, collective), gpus_of(topology, given));
  communication->axes.clear();
  return communication;
}

void ScenarioReader::settle_model_communication(const GivenJob& given, const Topology& topology,
                                                const Collective& collective, Communication& communication) {
  try {
    if (uses_nccl(given, topology, collective)) {
      check_nccl_reads(given, topology);
      add_nccl_models(given, *topology.nccl, communication);
    }
    scale_models(given, communication);
    if (!communication.is_settled()) {
      check_scale(given, communication);
      fold_traffic(communication);
    }
  } catch (const InputError& error) {
    throw error.at(given.has("collective") ? collective.place : given.at("cluster.topology"));
  }
}

void ScenarioReader::settle_batch(const GivenJob& given, const ParallelSection& parallel,
                                  const Scenario& scenario, DdpOptions& options) {
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

ParallelOptions ScenarioReader::shared_options(const GivenJob& given, const ParallelSection& parallel,
                                               const Parallelism& degrees, const DdpOptions& options,
                                               Scenario& scenario) {
  if (!scenario.model_step)
    throw InputError(parallel.place(),
                     "a recorded trace, or a list of layers, says nothing of how its layers split",
                     "name a transformer: workload: {model: llama-2-7b, micro_batch: 1}");
  auto settled =
      with_experts(parallel, degrees, *scenario.model_step, options.accumulation_steps, scenario.notes);
  auto shared = parallel_options(parallel, settled, *scenario.model_step, options.accumulation_steps);
  read_data_axis(given, options, parallel, scenario, shared);
  return shared;
}

std::shared_ptr<const ParallelStep> ScenarioReader::shared_step(
    const GivenJob& given, const ParallelSection& parallel, const ParallelOptions& options,
    const TensorCollectives& tensor, const ContextCollectives& context, const ExpertCollectives& expert,
    const Scenario& scenario) {
  try {
    return std::make_shared<const ParallelStep>(
        make_parallel_step(*scenario.model_step, options, parts_, tensor, context, expert));
  } catch (const InputError& error) {
    throw error.at(error.subject().empty() ? parallel.place() : place_of_plan_error(given, error));
  }
}

std::shared_ptr<const RankPlaces> ScenarioReader::read_shared_model(
    const GivenJob& given, const Collective& collective, const ParallelSection& parallel,
    const DdpOptions& options, std::optional<Fidelity> wanted, Scenario& scenario) {
  const auto& section = given.job.cluster;
  if (given.has("cluster.groups")) refuse(given, "cluster.groups", "cluster.groups");
  if (given.has("cluster.background")) refuse(given, "cluster.background", "background traffic");
  // Of groups that do the same one stands for all, and each is hashed onto cables of its own.
  if (section.hashing) refuse(given, "cluster.hashing", "cluster.hashing");
  if (collective.table || collective.backend == Backend::gloo || collective.workers > 1 || !section.topology)
    throw InputError(given.has("collective") && section.topology ? collective.place : given.at("cluster"),
                     "GPUs that share a model communicate over a topology, with NCCL or plain rings",
                     "add cluster.topology, and leave measured tables, Gloo and workers out");
  scenario.world_size = section.world_size;
  scenario.price = section.price;
  auto topology = find_topology(given);
  auto shared = shared_options(given, parallel, degrees_of(parallel, section.world_size), options, scenario);
  const auto& degrees = shared.degrees;
  auto& known_cluster = clusters_of_models_[{topology.get(), sections(given, {"cluster", "collective"})}];
  if (!known_cluster) known_cluster = model_communication(given, *topology, collective);
  const auto& cluster = *known_cluster->cluster;
  auto gpu_of_rank = place_job(given, *topology, cluster);
  for (auto& note : placement_notes(given, *topology, cluster, gpu_of_rank))
    scenario.notes.push_back(std::move(note));
  Places places(degrees, cluster, std::move(gpu_of_rank));
  SharedCluster of{given, collective, places, known_cluster};
  auto tensor = read_tensor_times(of, scenario);
  auto context = read_context_times(of, scenario);
  auto expert = read_expert_times(of, scenario);
  settle_tensor_overlap(parallel, scenario.model_step->software, degrees, tensor);
  auto step = shared_step(given, parallel, shared, tensor, context, expert, scenario);
  auto channels = pipeline_channels(step->plan);
  // Of a plain schedule nobody but its links says what it takes.
  if (uses_nccl(given, *topology, collective))
    for (auto& channel : channels)
      if (auto message = message_of(step->plan, channel)) channel.is_traffic = places.is_traffic(*message);
  auto& [communication, of_stage] =
      channels_of_models_[{known_cluster.get(), degrees, step->plan.joined,
                           shared.choice.strategy->communicators(shared.choice), channels}];
  if (!communication) {
    auto groups = std::make_shared<Communication>(*known_cluster);
    of_stage = add_channels(places, shared, channels, *groups);
    settle_model_communication(given, *topology, collective, *groups);
    communication = std::move(groups);
  }
  // One group alone, which NCCL's model has said all of, is simulated by choice only.
  if (!communication->folded && wanted.value_or(Fidelity::closed_form) != Fidelity::closed_form) {
    auto folded = std::make_shared<Communication>(*communication);
    fold_traffic(*folded);
    communication = std::move(folded);
  }
  add_network_notes(given, *topology, *communication, scenario);
  for (auto& note : cluster_notes(*topology, cluster)) scenario.notes.push_back(std::move(note));

  auto slowdowns = read_stragglers(given, [&](int node) { return places.ranks_on(node); });
  auto rank_places = places_of(places, slowdowns, degrees.pipeline);
  scenario.groups = {job_of(places, degrees, rank_places, of_stage)};
  scenario.ddp = options;
  scenario.plan.accumulation_steps = options.accumulation_steps;
  if (scenario.is(&StrategyTraits::is_ddp)) {
    scenario.plan.bucket_cap = options.bucket_cap;
    scenario.plan.comm_hook = options.comm_hook;
  }
  if (shared.shape.is_dual())
    scenario.notes.push_back(
        {"dualpipe-copies",
         "DualPipe's ranks hold every stage twice, and adding up the two copies' gradients is left out"});
  if (degrees.context > 1)
    scenario.notes.push_back(
        {"context-unexplained",
         "published steps that share sequences take longer than predicted, by a tenth on 2 ranks and half as "
         "long again on 4 and 8 (docs/accuracy.md); what they lose is not known"});
  scenario.communication = communication;
  scenario.parallel = std::move(step);
  return std::make_shared<const RankPlaces>(RankPlaces{std::move(rank_places), true});
}

}  // namespace ddpsim
