#pragma once
// What is unlikely about a scenario that is valid: each a note, because somebody may mean it.
#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Of a trace as it was recorded, and of the GPU that computed it (null: unknown).
std::vector<Note> recorded_notes(const LayerTrace& trace, const GpuDescription* gpu);

// What is not simulated of the trace's buffers: code buffers-left-out.
// Clears broadcasts that nothing tells the time of.
void settle_broadcasts(Scenario& scenario);

// Where buckets depend on an order of registration that the trace does not say.
Note registration_guessed_note();

// A pass over memory slower or faster than the GPU's (null: any) memory lets it be. Code pass-bandwidth.
std::optional<Note> pass_bandwidth_note(const std::optional<BytesPerSecond>& passes,
                                        const GpuDescription* gpu);

// Where nothing says which GPU computes, and nobody asked for textbook physics: what is not applied. None:
// everything is.
struct LeftOut {
  bool interference = false, copies = false, spread = false;
};
std::optional<Note> textbook_note(const LeftOut& left_out);

// What others leave of a fabric (EFA): nobody said it (code fabric-weather; `is_said`: somebody said that it
// is all), or it is known of fewer nodes (weather-extrapolated).
std::vector<Note> weather_notes(const Topology& topology, const Scenario& scenario, bool is_said);

// Links slower than anything GPUs are joined by: 5 ms where 5 us was meant, 1 B/s; more GPUs than the sources
// of the topology describe. Codes link-latency, link-bandwidth, topology-extent.
std::vector<Note> cluster_notes(const Topology& topology, const Cluster& cluster);

// A GPU of another architecture than that whose NVLink and NCCL the topology describes. Code other-topology.
std::vector<Note> architecture_notes(const GpuDescription& gpu, const Topology& topology);

}  // namespace ddpsim
