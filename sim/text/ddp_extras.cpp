#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::Value;

const SourceSpan& place_of(const Value& root, const char* key) {
  return root.find("ddp")->value.find(key)->value.span;
}

void check_power_sgd(const Value& root, Backend backend, Scenario& scenario) {
  if (backend == Backend::gloo)
    throw InputError(place_of(root, "comm_hook"),
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

void check_ddp_extras(const Value& root, Backend backend, Scenario& scenario) {
  if (scenario.plan.low_rank) check_power_sgd(root, backend, scenario);
  if (scenario.plan.compiled_graph)
    scenario.notes.push_back(
        {"compiled-times",
         scenario.ddp.parameter_rows.empty()
             ? "a compiled graph is cut as PyTorch's DDPOptimizer would, but computes as long as the trace "
               "says, and a head that is tied to the embedding is not known as one"
             : "a compiled graph is cut as PyTorch's DDPOptimizer would, but computes as long as the trace "
               "says"});
}

void check_process_groups(const Value& root, Backend backend, bool is_measured) {
  const auto& place = place_of(root, "process_groups");
  if (is_measured)
    throw InputError(place, "a measured table says nothing of two all-reduces at once",
                     "use another algorithm than measured");
  if (backend == Backend::gloo)
    throw InputError(place, "under Gloo several all-reduces are in flight anyway",
                     "use collective.workers instead");
}

}  // namespace ddpsim
