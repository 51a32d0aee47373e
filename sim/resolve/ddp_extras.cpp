#include "sim/resolve/sections.hpp"

namespace ddpsim {
namespace {

void check_power_sgd(const GivenJob& given, Scenario& scenario) {
  if (given.job.collective.backend == Backend::gloo)
    throw InputError(given.at("ddp.comm_hook"),
                     "under Gloo PowerSGD's steps run on threads of their own, which is not simulated",
                     "use backend: nccl, or another hook");
  auto say = [&](const char* code, const char* text) { scenario.notes.push_back({code, text}); };
  if (!scenario.physics.overheads.compresses)
    say("compression-free",
        "nothing says how fast the GPU goes over memory, or physics.passes leaves it out: PowerSGD's "
        "products and orthogonalisations count as nothing");
  if (!scenario.plan.low_rank->options.warm_start)
    say("powersgd-random",
        "without warm_start each Q is drawn on the CPU and copied to the GPU: how long that takes is not "
        "known, and left out");
}

}  // namespace

void check_ddp_extras(const GivenJob& given, Scenario& scenario) {
  if (scenario.plan.low_rank) check_power_sgd(given, scenario);
  if (scenario.plan.compiled_graph)
    scenario.notes.push_back(
        {"compiled-times",
         scenario.ddp.parameter_rows.empty()
             ? "a compiled graph is cut as PyTorch's DDPOptimizer would, but computes as long as the trace "
               "says, and a head that is tied to the embedding is not known as one"
             : "a compiled graph is cut as PyTorch's DDPOptimizer would, but computes as long as the trace "
               "says"});
}

void check_process_groups(const GivenJob& given) {
  if (given.job.ddp.process_groups == 1) return;
  const auto& place = given.at("ddp.process_groups");
  if (std::holds_alternative<job::Measured>(given.job.collective.algorithm))
    throw InputError(place, "a measured table says nothing of two all-reduces at once",
                     "use another algorithm than measured");
  if (given.job.collective.backend == Backend::gloo)
    throw InputError(place, "under Gloo several all-reduces are in flight anyway",
                     "use collective.workers instead");
}

}  // namespace ddpsim
