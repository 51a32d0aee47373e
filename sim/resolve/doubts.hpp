#pragma once
// What of a scenario nobody measured, as the factors of docs/model.md, "What the range holds".
#include <optional>
#include <vector>

#include "sim/compute/software.hpp"
#include "sim/cost/communication.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Of estimated compute times: how far the software was off where it was judged, and what it was never fitted
// on. `is_calibrated`: to a step of its user's.
std::vector<Doubt> compute_doubts(const Software& software, const GpuDescription& gpu, Precision precision,
                                  bool is_calibrated);
// Of a list of layers, whose times no software was fitted to.
Doubt list_of_layers_doubt();
// Of a trace that was recorded on another GPU.
Doubt rescaled_doubt();

// Where a job is larger, or shares layers over more GPUs, than the steps that its software was fitted or
// judged on.
std::optional<Note> software_scope_note(const Scenario& scenario);

// Of models that are known least: mixtures of experts, long sequences over several GPUs.
std::vector<Doubt> model_doubts(const Scenario& scenario);

// Of links that groups of GPUs communicate over, where no calibration has tables of such groups.
std::vector<Doubt> network_doubts(const Topology& topology, const Communication& communication);

}  // namespace ddpsim
