#include "sim/text/server_plans.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/cost/direct_sends.hpp"

namespace ddpsim {
namespace {

// What a model's replica takes, where the section does not say it: tokens of 8 bytes, and logits, whose loss
// is outside the module. Of a trace nobody knows.
SingleProcessOptions single_process_options(const job::DataParallel& section, Scenario& scenario) {
  SingleProcessOptions options;
  if (const auto& known = scenario.model_step) {
    const auto& shape = known->step.shape;
    const auto& software = known->software;
    auto tokens = static_cast<double>(shape.tokens());
    double logits = tokens * static_cast<double>(known->model.vocab);
    options.inputs = Bytes(8 * tokens);
    options.outputs = Bytes(activation_bytes(known->step.precision) * logits);
    if (section.outputs.value_or(options.outputs) > Bytes())
      options.loss = Bytes(software.loss_bytes * logits) / (known->gpu.memory_bandwidth * software.memory);
    TransformerTimes times(known->model, known->gpu, software, known->step.precision, shape);
    options.host_forward = static_cast<double>(known->model.layers) * times.block().forward.host;
  }
  std::string unknown;
  auto take = [&](const char* key, const auto& given, auto& value) {
    if (!given && !scenario.model_step) unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", key);
    value = given.value_or(value);
  };
  take("inputs", section.inputs, options.inputs);
  take("outputs", section.outputs, options.outputs);
  take("loss", section.loss, options.loss);
  take("host_forward", section.host_forward, options.host_forward);
  if (!unknown.empty())
    scenario.notes.push_back(
        {"data-parallel-unknown",
         fmt::format(
             "a trace does not say what DataParallel scatters, gathers, computes on GPU 0 and launches "
             "for each replica: they count as nothing (data_parallel: {})",
             unknown)});
  return options;
}

}  // namespace

StrategyPlan make_single_process(const GivenJob& given, Scenario& scenario) {
  auto options = single_process_options(given.job.data_parallel, scenario);
  auto plan = make_single_process_plan(*scenario.trace, options, scenario.groups.front().ranks);
  plan.scatter = plan.options.inputs / scenario.host.copy_bandwidth;
  const auto* communication = scenario.communication.get();
  if (!communication) return plan;
  const auto& gpus = communication->groups.front();
  if (communication->groups.size() > 1 || ranks_by_node(*communication->cluster, gpus).size() > 1)
    throw InputError(given.at("strategy"), "one process drives the GPUs of one machine",
                     "use a world_size within a node, or strategy: ddp");
  if (!communication->background.empty())
    throw InputError(given.places.key_at("cluster.background"),
                     "background traffic beside DataParallel's broadcasts is not simulated",
                     "remove it, or use strategy: ddp");
  if (communication->gloo)
    throw InputError(given.at("strategy"), "one process does not communicate with Gloo",
                     "remove 'backend: gloo'");
  if (plan.options.outputs > Bytes() && gpus.size() > 1)
    plan.gather = DirectSends(*communication->cluster, std::span(gpus).subspan(1), std::span(gpus).first(1),
                              DirectSends::Ways::to)
                      .time(plan.options.outputs);
  return plan;
}

StrategyPlan make_server_plan(const ServerOptions& options, Scenario& scenario) {
  ServerPlan plan{options, 0, {}};
  for (const auto& group : scenario.groups) plan.workers += group.ranks;
  if (options.synchronous || !scenario.communication) return plan;
  auto elements = static_cast<double>(total_elements(*scenario.trace));
  auto links = Seconds(scenario.communication->server_round * scenario.trace->bytes().value());
  auto updates = Seconds(plan.workers * elements / options.servers / options.update_rate);
  scenario.notes.push_back(
      {"server-round",
       fmt::format("no worker steps in less than {}, which is how long the servers' {} busy with a step of "
                   "each of {} workers; the fabric's latency and queues beyond that are left out",
                   format_seconds(std::max(links, updates)), links >= updates ? "links are" : "hosts are",
                   plan.workers)});
  plan.round = std::max(links, updates);
  return plan;
}

}  // namespace ddpsim
