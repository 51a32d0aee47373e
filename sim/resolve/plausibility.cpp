#include "sim/resolve/plausibility.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/weather_file.hpp"
#include "sim/trace/plausible_trace.hpp"

namespace ddpsim {
namespace {

constexpr Seconds kLongLatency(1e-3);  // between continents tens of ms, in a data centre some us
constexpr BytesPerSecond kSlowLink(1e6);
constexpr BytesPerSecond kSlowestMemory(1e9), kFastestMemory(20e12);
constexpr double kLeastPass = 0.05, kMostPass = 1.1;  // of a GPU's memory bandwidth
constexpr const char* kPublishedWeather = "efa-shared";

// "a, b and c"
std::string in_words(const std::vector<std::string_view>& what) {
  std::string words(what.front());
  for (std::size_t i = 1; i < what.size(); ++i)
    words += fmt::format("{}{}", i + 1 == what.size() ? " and " : ", ", what[i]);
  return words;
}

}  // namespace

std::vector<Note> recorded_notes(const LayerTrace& trace, const GpuDescription* gpu) {
  auto notes = trace_notes(trace);
  if (!gpu) return notes;
  for (auto& note : compute_notes(trace, *gpu)) notes.push_back(std::move(note));
  return notes;
}

void settle_broadcasts(Scenario& scenario) {
  if (scenario.parallel) return;
  auto& plan = scenario.plan;
  auto say = [&](std::string code, std::string text) {
    scenario.notes.push_back({std::move(code), std::move(text)});
  };
  if (!plan.is_distributed_data_parallel) {
    const auto& explicit_buffers = scenario.ddp.broadcast_buffers;
    if (!scenario.trace->buffers.empty() && !explicit_buffers)
      say("buffers-left-out",
          fmt::format("the model has buffers, which DistributedDataParallel broadcasts before forward: "
                      "strategy {} does not",
                      scenario.strategy->name()));
  } else if (!plan.buffer_broadcasts.empty() && scenario.measured_table &&
             scenario.measured_table->is_replay()) {
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
  if (int usual = topology.usual_size().value_or(0);
      cluster.nodes() > 1 && usual > 0 && cluster.gpus() % usual != 0)
    notes.push_back(
        {"partial-node",
         fmt::format("{} GPUs fill {} of {} and leave {} on another: fewer NICs there", cluster.gpus(),
                     counted(cluster.gpus() / usual, "node"), usual, cluster.gpus() % usual)});
  if (const auto& extent = topology.extent; extent && cluster.gpus() > extent->gpus)
    notes.push_back(
        {"topology-extent", fmt::format("the topology's sources describe up to {} GPUs, and these are {}: {}",
                                        extent->gpus, cluster.gpus(), extent->beyond)});
  return notes;
}

std::vector<Note> weather_notes(const Topology& topology, const Scenario& scenario, bool is_said) {
  if (!scenario.communication) return {};
  int nodes = scenario.communication->cluster->nodes();  // of the job, of which a larger cluster has more
  if (auto of_node = topology.node_size()) nodes = std::min(nodes, (scenario.world_size - 1) / *of_node + 1);
  if (nodes < 2) return {};
  if (scenario.sampled && scenario.sampled->variability.weather) {
    const auto& drawn = *scenario.sampled->variability.weather;
    std::vector<Note> notes;
    auto joined_by = topology.network ? name_in(kNetworkClassNames, *topology.network) : std::string_view();
    if (!drawn.network.empty() && !joined_by.empty() && drawn.network != joined_by)
      notes.push_back({"weather-other-network",
                       fmt::format("the weather was measured on {}, and these nodes are joined by {}: nobody "
                                   "measured it there",
                                   drawn.network, joined_by)});
    int known = drawn.rows.back().nodes;
    if (nodes / 2 > known)
      notes.push_back(
          {"weather-extrapolated",
           fmt::format("what the fabric gives is known of up to {}, and taken to be the same on {}",
                       counted(known, "node"), nodes)});
    return notes;
  }
  auto published = find_preset(PresetKind::fabrics, kPublishedWeather);
  if (is_said || topology.network != NetworkClass::efa || !published) return {};
  auto weather = read_weather_file(*published);
  auto percent = [&](double quantile) { return 100 * share_of_bandwidth(weather, nodes, quantile); };
  return {{"fabric-weather",
           fmt::format(
               "nodes are joined by EFA, which others use too: published collectives on {} such nodes got "
               "{:.0f} to "
               "{:.0f} % of what they get here, {:.0f} % in the median (variability.weather: {} draws it)",
               nodes, percent(0.05), percent(0.95), percent(0.5), kPublishedWeather)}};
}

std::optional<Note> pass_bandwidth_note(const std::optional<BytesPerSecond>& passes,
                                        const GpuDescription* gpu) {
  if (!passes) return std::nullopt;
  if (!gpu) {
    if (*passes >= kSlowestMemory && *passes <= kFastestMemory) return std::nullopt;
    return Note{"pass-bandwidth",
                fmt::format("physics.pass_bandwidth is {}: memory of GPUs and hosts has {} to {}. "
                            "Is the unit right?",
                            format_bandwidth(*passes), format_bandwidth(kSlowestMemory),
                            format_bandwidth(kFastestMemory))};
  }
  double share = *passes / gpu->memory_bandwidth;
  if (share >= kLeastPass && share <= kMostPass) return std::nullopt;
  return Note{
      "pass-bandwidth",
      fmt::format("physics.pass_bandwidth is {}, {:.3g} % of the memory bandwidth of {}: is the unit right?",
                  format_bandwidth(*passes), 100 * share, gpu->name)};
}

std::optional<Note> textbook_note(const LeftOut& left_out) {
  std::vector<std::string_view> what;
  if (left_out.interference) what.push_back("interference");
  if (left_out.copies) what.push_back("copies");
  if (left_out.spread) what.push_back("the spread of GPUs");
  if (what.empty()) return std::nullopt;
  return Note{"textbook-physics",
              fmt::format("textbook physics: no GPU is named (cluster.gpu), so {} {} left out",
                          in_words(what), what.size() == 1 && !left_out.copies ? "is" : "are")};
}

std::vector<Note> architecture_notes(const GpuDescription& gpu, const Topology& topology) {
  const auto* chip = std::ranges::find(nccl::kChips, gpu.architecture, &nccl::GpuChip::name);
  if (!topology.nccl || chip == nccl::kChips.end() || chip->counted_as == topology.nccl->gpu) return {};
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
