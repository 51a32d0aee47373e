#pragma once
// What of a scenario nobody measured, as classes of evidence: docs/model.md, "How sure a prediction is".
#include <optional>
#include <vector>

#include "sim/compute/software.hpp"
#include "sim/cost/communication.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Named by its user, the default where nobody named one, or calibrated to a step of its user's.
enum class WhoseSoftware { named, default_one, calibrated };

// Of estimated compute times.
std::vector<Doubt> compute_doubts(const Software& software, const GpuDescription& gpu, Precision precision,
                                  WhoseSoftware whose);
// Of a list of layers, whose times no software was fitted to.
std::vector<Doubt> estimated_doubts();
// `is_of_other_gpu`: it was recorded on one that the cluster does not have.
std::vector<Doubt> trace_doubts(const LayerTrace& trace, bool is_rescaled, bool is_of_other_gpu);

// Where a job is larger, or shares layers over more GPUs, than the steps that its software was fitted or
// judged on.
std::optional<Note> software_scope_note(const Scenario& scenario);
// Where flows may meet above the leaves of a RoCE fabric and nobody said how.
std::optional<Note> roce_note(std::span<const Doubt> doubts);

// Of the whole, once all else is known: models and implementations that are known least, and physics that
// nothing calibrated.
void add_step_doubts(Scenario& scenario);

// What steps of the user's own told of its networks: predictions are by that.
void take_found(Scenario& scenario);

// Of links that groups of GPUs communicate over.
std::vector<Doubt> network_doubts(const Topology& topology, const Communication& communication);
// Those of a class are one, of all its axes.
void add_doubts(std::vector<Doubt> more, std::vector<Doubt>& doubts);

}  // namespace ddpsim
