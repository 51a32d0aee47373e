#pragma once
// A parameter server: workers push gradients to servers, which add them up, step the optimizer and hand out
// parameters, which workers pull.
//
// After MXNet's distributed key-value store (src/kvstore/kvstore_dist.h, kvstore_dist_server.h; the design:
// Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014): every parameter is
// a key, pushed as its gradient arrives, in parts of the same size to all servers, and pulled once it is
// pushed. With `dist_sync` a server steps once all workers have pushed a key; with `dist_async` it steps at
// every push, and no worker waits for another one.
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

struct ServerOptions {
  int servers = 1;
  bool dedicated = false;  // on machines of their own; else beside the workers
  bool synchronous = true;
  double update_rate = kUsualAdamRate;  // parameters that a server's host steps in a second
  bool operator==(const ServerOptions&) const = default;
};

// A worker's program: pushes and pulls are communicators of their own, as links carry data both ways. The
// optimizer is the servers': a key is pulled once it is stepped. The step ends when all keys are pulled.
struct ServerPlan final : StrategyPlan {
  ServerOptions options;
  int workers = 1;
  // Asynchronous: how long servers and their links are busy with one step of every worker. No worker can take
  // less from step to step.
  Seconds links, updates;
  [[nodiscard]] Seconds round() const { return std::max(links, updates); }

  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const override;
  [[nodiscard]] StepProgram program(const LayerTrace& trace, int accumulation_steps,
                                    const Overheads& overheads) const override;
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override;
  [[nodiscard]] std::vector<StrategyTrial> trials(const TrialsOf& of) const override;
  [[nodiscard]] bool is_asynchronous() const override { return !options.synchronous; }
};

}  // namespace ddpsim
