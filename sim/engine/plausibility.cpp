#include "sim/engine/plausibility.hpp"

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/trace/plausible_trace.hpp"

namespace ddpsim {
namespace {

constexpr Seconds kLongLatency(1e-3);  // between continents tens of ms, in a data centre some us
constexpr BytesPerSecond kSlowLink(1e6);

void append(std::vector<Note> more, std::vector<Note>& notes) {
  notes.insert(notes.end(), more.begin(), more.end());
}

}  // namespace

void add_plausibility_notes(const GpuDescription* gpu, Scenario& scenario) {
  append(trace_notes(*scenario.trace), scenario.notes);
  if (gpu) append(compute_notes(*scenario.trace, *gpu), scenario.notes);
  if (scenario.measured_table) append(table_notes(*scenario.measured_table), scenario.notes);
}

std::vector<Note> link_notes(const Cluster& cluster) {
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
  return notes;
}

}  // namespace ddpsim
