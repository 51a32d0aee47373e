#include "sim/text/plausibility.hpp"

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/trace/plausible_trace.hpp"

namespace ddpsim {
namespace {

constexpr Seconds kLongLatency(1e-3);  // between continents tens of ms, in a data centre some us
constexpr BytesPerSecond kSlowLink(1e6);

}  // namespace

std::vector<Note> recorded_notes(const LayerTrace& trace, const GpuDescription* gpu) {
  auto notes = trace_notes(trace);
  if (!gpu) return notes;
  for (auto& note : compute_notes(trace, *gpu)) notes.push_back(std::move(note));
  return notes;
}

void settle_broadcasts(Scenario& scenario) {
  auto& plan = scenario.plan;
  auto say = [&](std::string code, std::string text) {
    scenario.notes.push_back({std::move(code), std::move(text)});
  };
  if (!plan.is_distributed_data_parallel) {
    const auto& explicit_buffers = scenario.ddp.broadcast_buffers;
    const auto& ddp = scenario.ddp;
    if (ddp.comm_hook != CommHook::none || (explicit_buffers && !explicit_buffers->empty()))
      say("ddp-unused",
          fmt::format("ddp.comm_hook and ddp.broadcast_buffers are DistributedDataParallel's: strategy {} "
                      "does without them",
                      strategy_name(plan.strategy)));
    else if (ddp.compiled || ddp.process_groups > 1)
      say("ddp-unused",
          fmt::format("ddp.compiled and ddp.process_groups are DistributedDataParallel's: strategy {} "
                      "does without them",
                      strategy_name(plan.strategy)));
    else if (!scenario.trace->buffers.empty() && !explicit_buffers)
      say("buffers-left-out",
          fmt::format("the model has buffers, which DistributedDataParallel broadcasts before forward: "
                      "strategy {} does not",
                      strategy_name(plan.strategy)));
  } else if (!plan.buffer_broadcasts.empty() && scenario.measured_table &&
             scenario.measured_table->cost.is_replay()) {
    plan.buffer_broadcasts.clear();
    say("buffers-left-out",
        "the measured table holds all-reduces of one run, each by itself: what a broadcast of the model's "
        "buffers takes "
        "is not known, and left out");
  }
}

std::vector<Note> cluster_notes(const Topology& topology, const Cluster& cluster) {
  int slow = -1, late = -1;
  for (int link = cluster.links() - 1; link >= 0; --link) {
    auto figures = cluster.link(link);
    if (figures.bandwidth < kSlowLink) slow = link;
    if (figures.latency > kLongLatency) late = link;
  }
  std::vector<Note> notes;
  if (late >= 0)
    notes.push_back(
        {"link-latency", fmt::format("link {} has a latency of {}: is it in us?", cluster.link_name(late),
                                     format_seconds(cluster.link(late).latency))});
  if (slow >= 0)
    notes.push_back({"link-bandwidth",
                     fmt::format("link {} has a bandwidth of {}: is the unit right?", cluster.link_name(slow),
                                 format_bandwidth(cluster.link(slow).bandwidth))});
  if (const auto& extent = topology.extent; extent && cluster.gpus() > extent->gpus)
    notes.push_back(
        {"topology-extent", fmt::format("the topology's sources describe up to {} GPUs, and these are {}: {}",
                                        extent->gpus, cluster.gpus(), extent->beyond)});
  return notes;
}

std::vector<Note> weather_notes(const Topology& topology, const Scenario& scenario) {
  bool is_shared = topology.network == NetworkClass::efa;
  bool is_drawn = scenario.sampled && scenario.sampled->variability.weather;
  if (!is_shared || is_drawn || !scenario.communication || scenario.communication->cluster->nodes() < 2)
    return {};
  return {{"fabric-weather",
           "nodes are joined by EFA, which others use too: published collectives on 64 such nodes got 11 to "
           "100 % of "
           "what they get here, 23 % in the median (variability.weather: efa-shared draws it)"}};
}

Note textbook_note() {
  return {
      "textbook-physics",
      "textbook physics: no GPU is named (cluster.gpu), so interference, copies and the spread of GPUs are "
      "left out"};
}

std::vector<Note> architecture_notes(const GpuDescription& gpu, const Topology& topology) {
  // NCCL counts Turing as Volta.
  auto counted = gpu.architecture == "turing" ? "volta" : gpu.architecture;
  if (!topology.nccl || counted.empty() || counted == nccl::name(topology.nccl->gpu)) return {};
  return {{"other-topology",
           fmt::format("the GPU is {} ({}), and the topology's nodes have {} GPUs: compute times are of the "
                       "one and collectives of the other. Is it the right topology ('ddpsim list "
                       "topologies')?",
                       gpu.name, gpu.architecture, nccl::name(topology.nccl->gpu))}};
}

Note registration_guessed_note() {
  return {"registration-guessed",
          "the trace does not say in which order parameters are registered (column "
          "'parameter'): the reverse of arrival is assumed, and the buckets here depend on it"};
}

}  // namespace ddpsim
