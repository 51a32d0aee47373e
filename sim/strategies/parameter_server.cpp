#include "sim/strategies/parameter_server.hpp"

#include <numeric>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/bucketed_plan.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;

constexpr std::size_t kPush = 0, kPull = 1, kRound = 2;  // communicators

// The part of a key that each server has.
Seconds update_time(const Gradient& gradient, const ServerOptions& options) {
  return Seconds(static_cast<double>(gradient.elements) / options.servers / options.update_rate);
}

class ServerStrategy final : public Strategy {
 public:
  ServerStrategy() : Strategy({.name = "parameter_server", .has_servers = true}) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    auto plan = std::make_shared<ServerPlan>();
    plan->options = input.choice.sections.of<ServerOptions>();
    plan->workers = input.world_size;
    if (plan->options.synchronous || !input.communication) return plan;
    auto elements = static_cast<double>(total_elements(input.trace));
    plan->links = Seconds(input.communication->server_round * input.trace.bytes().value());
    plan->updates = Seconds(plan->workers * elements / plan->options.servers / plan->options.update_rate);
    return plan;
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    std::vector<CommunicatorUse> uses{{"push", Joined::servers, {Operation::reduce}},
                                      {"pull", Joined::servers, {Operation::broadcast}}};
    if (!choice.sections.of<ServerOptions>().synchronous)
      uses.push_back({"serve", Joined::servers, {Operation::reduce}});
    return uses;
  }
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const override {
    overheads.passes = overheads.passes_of_one = {0, 0};
  }
};
const ServerStrategy kServerStrategy;
const When kServers{[](const Job& job) { return job.strategy == &kServerStrategy; },
                    "strategy parameter_server"};

Type<ServerOptions> server_rows() {
  using P = ServerOptions;
  return nested(Rows<P>("parameter_server")
                    .key<&P::servers>("servers", whole(1, kLargestWorldSize), "How many")
                    .key<&P::dedicated>("placement", word<bool>({{"colocated", false}, {"dedicated", true}}),
                                        "Where they run")
                    .key<&P::synchronous>("synchronous", boolean(), "Whether workers wait for one another")
                    .key<&P::update_rate>("update_rate", number(1e3, 1e15), "Parameters a second"));
}

}  // namespace

StrategyFamily server_family() {
  return {{&kServerStrategy}, [](Rows<Job>& to) {
            to.at<ServerOptions>(
                  "parameter_server", server_rows(),
                  [](Job& job) -> ServerOptions& { return job.sections.of<ServerOptions>(); },
                  "Parameter servers")
                .when(kServers);
          }};
}

ReductionPlan ServerPlan::reductions(const LayerTrace& trace, int accumulation_steps) const {
  ReductionPlan result;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>(trace.gradients.size());
  std::iota(order->begin(), order->end(), 0);
  for (const auto& gradient : *order)
    result.buckets.push_back(
        {{&gradient, 1}, trace.gradients[gradient].bytes(), trace.gradients[gradient].dtype});
  result.order = std::move(order);
  return result;
}

StepProgram ServerPlan::program(const LayerTrace& trace, int accumulation_steps,
                                const Overheads& overheads) const {
  bool has_round = !options.synchronous;
  StepBuilder step(overheads, has_round ? 3 : 2);
  std::vector<std::size_t> last;
  if (has_round)
    last.push_back(step.collective(kRound, Activity::serve, Operation::reduce, 0, Bytes(), {}, round()));
  for (int i = 0; i < accumulation_steps; ++i) {
    auto index = static_cast<std::size_t>(i);
    step.compute(Activity::forward, index, trace.forward.value_or(Seconds()));
    if (i + 1 < accumulation_steps) {
      step.compute(Activity::backward, index, trace.backward());
      continue;
    }
    step.start_last_backward();
    Seconds now;
    for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
      const auto& gradient = trace.gradients[g];
      if (gradient.ready > now) step.compute(Activity::backward, index, gradient.ready - now);
      now = gradient.ready;
      step.set_ready(g);
      auto push = step.collective(kPush, Activity::push, Operation::reduce, g, gradient.bytes(),
                                  {*step.last_compute()});
      last.push_back(step.collective(kPull, Activity::pull, Operation::broadcast, g, gradient.bytes(), {push},
                                     update_time(gradient, options)));
    }
  }
  for (auto op : last) step.wait(op);
  step.compute(Activity::optimizer, 0, {});
  return step.take();
}

// Workers have no optimizer.
HeldStates ServerPlan::held(const HeldOf& of) const {
  auto state = of.step.state;
  state.optimizer = state.step_copy = 0;
  return {.state = state};
}

std::vector<Note> ServerPlan::notes(const PlanInput& input) const {
  if (options.synchronous || !input.communication) return {};
  return {
      {"server-round",
       fmt::format("no worker steps in less than {}, which is how long the servers' {} busy with a step of "
                   "each of {} workers; the fabric's latency and queues beyond that are left out",
                   format_seconds(round()), links >= updates ? "links are" : "hosts are", workers)}};
}

std::vector<StrategyTrial> ServerPlan::trials(const TrialsOf&) const {
  std::vector<StrategyTrial> all;
  if (2 * options.servers <= workers)
    all.push_back({fmt::format("{} servers", 2 * options.servers),
                   {fmt::format("parameter_server.servers={}", 2 * options.servers)}});
  all.push_back(
      {options.dedicated ? "servers beside the workers" : "servers on nodes of their own",
       {fmt::format("parameter_server.placement={}", options.dedicated ? "colocated" : "dedicated")}});
  all.push_back({options.synchronous ? "asynchronous workers" : "synchronous workers",
                 {fmt::format("parameter_server.synchronous={}", !options.synchronous)}});
  return all;
}

}  // namespace ddpsim
