#include "sim/study/explain_sharding.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/config/overrides.hpp"

namespace ddpsim {
namespace {

const char* on_off(bool value) {
  return value ? "true" : "false";
}

// Layers of a unit: powers of two, up to all of them.
void add_units(const WhatIf& what_if, const FsdpPlan& plan, const LayerTrace& trace,
               std::vector<Change>& changes) {
  const auto& rule = plan.options.units;
  if (what_if.find("fsdp", "units")) return;
  auto blocks = static_cast<int>(shard_units(trace, {}).size()) - 1;
  if (blocks < 1) return;
  auto add = [&](int layers) {
    if (!rule.bytes && rule.blocks == layers) return;
    changes.push_back({fmt::format("units of {} layer{}", layers, layers == 1 ? "" : "s"),
                       {fmt::format("fsdp.unit={{layers: {}}}", layers)}});
  };
  for (int layers = 1; layers < blocks; layers *= 2) add(layers);
  add(blocks);
}

// Ranks of a shard group: a node's times powers of two.
void add_groups(const FsdpPlan& plan, const Scenario& scenario, std::vector<Change>& changes) {
  bool is_fsdp2 = plan.strategy == Strategy::fsdp || plan.strategy == Strategy::hsdp;
  for (int ranks = scenario.host.ranks; ranks >= 2 && ranks <= scenario.world_size; ranks *= 2)
    if (ranks != plan.shards && scenario.world_size % ranks == 0)
      changes.push_back({fmt::format("shard group of {} ranks", ranks),
                         {fmt::format("strategy={}", is_fsdp2 ? "hsdp" : "hsdp1"),
                          fmt::format("fsdp.shard_group={}", ranks)}});
}

void add_fsdp(const WhatIf& what_if, const FsdpPlan& plan, const Scenario& scenario,
              std::vector<Change>& changes) {
  add_units(what_if, plan, *scenario.trace, changes);
  add_groups(plan, scenario, changes);
  const auto& options = plan.options;
  if (options.reduce_dtype == DType::float32)
    changes.push_back({"reduce-scatters in bf16", {"fsdp.reduce_dtype=bf16"}});
  if (options.cpu_offload) changes.push_back({"nothing on the host", {"fsdp.cpu_offload=false"}});
}

void add_zero(const BucketedPlan& plan, const ZeroOptions& options, std::vector<Change>& changes) {
  auto add = [&](const char* key, std::int64_t size) {
    if (size >= 1)
      changes.push_back({fmt::format("zero.{} {:g}", key, static_cast<double>(size)),
                         {fmt::format("zero.{}={}", key, size)}});
  };
  for (auto size : {options.reduce_bucket_size / 10, options.reduce_bucket_size / 2})
    add("reduce_bucket_size", size);
  if (plan.strategy == Strategy::zero3) {
    add("prefetch_bucket_size", 2 * options.prefetch_bucket_size);
    add("prefetch_bucket_size", options.prefetch_bucket_size / 2);
  } else {
    add("allgather_bucket_size", options.allgather_bucket_size / 10);
  }
  if (options.offload_optimizer)
    changes.push_back({"nothing on the host", {"zero.offload_optimizer=false", "zero.offload_param=false"}});
}

void add_servers(const ServerPlan& plan, std::vector<Change>& changes) {
  if (2 * plan.options.servers <= plan.workers)
    changes.push_back({fmt::format("{} servers", 2 * plan.options.servers),
                       {fmt::format("parameter_server.servers={}", 2 * plan.options.servers)}});
  changes.push_back(
      {plan.options.dedicated ? "servers beside the workers" : "servers on nodes of their own",
       {fmt::format("parameter_server.placement={}", plan.options.dedicated ? "colocated" : "dedicated")}});
  changes.push_back({plan.options.synchronous ? "asynchronous workers" : "synchronous workers",
                     {fmt::format("parameter_server.synchronous={}", on_off(!plan.options.synchronous))}});
}

}  // namespace

void add_bucket_sizes(const WhatIf& what_if, std::vector<Change>& changes) {
  auto size = reduction_size(what_if.given().job);
  if (!size || what_if.find("fsdp", "units")) return;
  const auto* now = config::find_at(what_if.root(), size->path);
  for (const auto& value : size->values)
    if (!now || text_of(*now) != value)
      changes.push_back({fmt::format("{} {}", size->path, value), {fmt::format("{}={}", size->path, value)}});
}

void add_sharding_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes) {
  if (!scenario.strategy_plan) return;
  const auto& plan = *scenario.strategy_plan;
  if (const auto* fsdp = std::get_if<FsdpPlan>(&plan)) add_fsdp(what_if, *fsdp, scenario, changes);
  if (const auto* zero = std::get_if<ZeroPlan>(&plan)) add_zero(*zero, zero->options, changes);
  if (const auto* zero = std::get_if<Zero3Plan>(&plan)) add_zero(*zero, zero->options, changes);
  if (scenario.plan.strategy == Strategy::megatron) add_bucket_sizes(what_if, changes);
  if (const auto* server = std::get_if<ServerPlan>(&plan)) add_servers(*server, changes);
}

}  // namespace ddpsim
