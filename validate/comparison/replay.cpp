#include "validate/comparison/replay.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/source.hpp"
#include "sim/program/data_parallel.hpp"

namespace ddpsim::validate {
namespace {

StepProgram program_of(const Scenario& scenario) {
  if (!scenario.strategy_plan) return data_parallel_program(*scenario.trace, scenario.plan, {});
  return scenario.strategy_plan->program(*scenario.trace, scenario.plan.accumulation_steps, {});
}

// Of a rank that holds the whole model nobody says it: nothing but compute comes before.
std::optional<std::size_t> before_last_backward(const Program& program, std::size_t micro_batches) {
  std::optional<std::size_t> last_compute;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    if (op.kind == Op::Kind::collective) continue;
    if (op.activity == Activity::backward && op.index + 1 == micro_batches) return last_compute;
    last_compute = i;
  }
  return std::nullopt;
}

// Of the host or its links.
bool is_offloaded(const Op& op) {
  return op.is_fixed || (op.kind == Op::Kind::collective && op.duration > Seconds());
}

// Parameters that are gathered again are the same ones.
bool gathers_the_same(const Op& a, const Op& b) {
  return a.activity == Activity::all_gather && b.activity == Activity::all_gather && a.index == b.index &&
         a.bytes == b.bytes;
}

}  // namespace

void check_can_be_real(const Scenario& scenario) {
  if (scenario.has_stages())
    throw InputError(
        "ranks of a real run do the same, and recorded stages do not",
        "'ddpsim simulate' predicts it; compare with a measured step by 'ddpsim calibrate --step'");
  if (scenario.sampled)
    throw InputError("real ranks vary as they do, not by random numbers",
                     "remove 'variability', or compare with measured iterations (--measured FILE)");
  if (scenario.ddp.iteration != DdpIteration::steady)
    throw InputError("a real run measures steady iterations, not the first ones", "remove ddp.iteration");
  if (scenario.plan.comm_hook != CommHook::none)
    throw InputError("a real run has no communication hook", "remove ddp.comm_hook");
  if (scenario.plan.compiled_graph) throw InputError("a real run compiles no graph", "remove ddp.compiled");
  if (scenario.plan.process_groups > 1)
    throw InputError("a real run has one process group", "remove ddp.process_groups");
  if (!scenario.plan.buffer_broadcasts.empty())
    throw InputError("a real run broadcasts no buffers", "write ddp.broadcast_buffers: false");
  if (scenario.plan.used_parameter_bitmap || !scenario.plan.unused.empty())
    throw InputError("a real run has no unused parameters",
                     "remove ddp.find_unused_parameters and workload.unused_parameters");
  if (scenario.strategy_plan && std::ranges::any_of(program_of(scenario).program.ops, is_offloaded))
    throw InputError("a real run offloads nothing to a host",
                     "remove fsdp.cpu_offload, zero.offload_optimizer and zero.offload_param, or a program's "
                     "'fixed' and 'plus'");
}

std::size_t elements_of(Operation operation, Bytes bytes, int ranks) {
  auto elements = static_cast<std::size_t>(std::ceil(bytes.value() / 4));
  if (!is_in_parts(operation)) return elements;
  auto parts = static_cast<std::size_t>(ranks);
  return (elements + parts - 1) / parts * parts;
}

Step replay_step(const Scenario& scenario, const std::string& name, const Sampling& sampling) {
  Step step{name, {}, {}, sampling, true};
  auto built = program_of(scenario);
  step.program = std::move(built.program);
  step.before_last_backward = built.before_last_backward;
  if (!step.before_last_backward)
    step.before_last_backward =
        before_last_backward(step.program, static_cast<std::size_t>(scenario.plan.accumulation_steps));
  std::size_t first = 0;
  auto collectives = step.collectives();
  for (const auto* op : collectives) {
    auto known =
        std::ranges::find_if(collectives, [&](const Op* one) { return gathers_the_same(*one, *op); });
    if (auto at = static_cast<std::size_t>(known - collectives.begin()); at < step.ranges.size()) {
      step.ranges.push_back(step.ranges[at]);
      continue;
    }
    step.ranges.push_back({first, elements_of(op->operation, op->bytes, scenario.world_size)});
    first += step.ranges.back().count;
  }
  return step;
}

std::vector<std::size_t> reductions_of(const Step& step, std::size_t buckets) {
  std::vector<std::size_t> reductions(buckets);
  if (buckets == 0) return reductions;  // a program's are of no plan
  auto collectives = step.collectives();
  for (std::size_t c = 0; c < collectives.size(); ++c)
    if (collectives[c]->activity != Activity::all_gather) reductions.at(collectives[c]->index) = c;
  return reductions;
}

std::map<int, double> slowdowns_of(const Scenario& scenario) {
  std::map<int, double> slowdowns;
  std::set<int> taken;
  for (const auto& one : scenario.groups.front().rank_classes) taken.insert(one.rank);
  for (const auto& one : scenario.groups.front().rank_classes) {
    if (one.slowdown == 1) continue;
    slowdowns[one.rank] = one.slowdown;
    int next = 0;
    for (int more = 1; more < one.ranks; ++more) {
      while (!taken.insert(next).second) ++next;
      slowdowns[next] = one.slowdown;
    }
  }
  return slowdowns;
}

}  // namespace ddpsim::validate
