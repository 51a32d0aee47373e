// `strategy` where GPUs share a copy of the model: what the data axis does with each GPU's part.
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/resolve/shared_model.hpp"

namespace ddpsim {
namespace {

// torchtitan's two dimensions: of those that reduce so many hold the parameters together.
void check_shards(int shards, int reducing) {
  if (shards < 2 || reducing % shards != 0)
    throw InputError(fmt::format("{} data-parallel ranks are not groups of {}", reducing, shards),
                     "the ranks of a shard group divide those of the data axis")
        .about("fsdp.shard_group");
}

// A node's GPUs as ranks of the data axis.
int shards_of_node(int gpus, int tensor) {
  if (gpus % tensor != 0 || gpus == tensor)
    throw InputError(
        fmt::format("a node's {} GPUs are not several ranks of the data axis with tensor {}", gpus, tensor),
        "write fsdp: {shard_group: RANKS}, a divisor of the data-parallel ranks")
        .about("strategy");
  return gpus / tensor;
}

using Shares = bool StrategyTraits::*;

void check_shares(const Strategy& strategy, Shares shares, const char* what, const char* otherwise) {
  if (strategy.traits.*shares) return;
  throw InputError(
      fmt::format("strategy {} of {} is not simulated", strategy.name(), what),
      fmt::format("use one of {}{}",
                  fmt::join(strategies_that([&](const auto& one) { return one.*shares; }), ", "), otherwise))
      .about("strategy");
}

void check_several(const Strategy& strategy, int reducing) {
  if (strategy.traits.needs_several && reducing == 1)
    throw InputError(
        fmt::format("strategy {} shards over the data axis, and that is one rank", strategy.name()),
        "use more GPUs, or strategy: ddp")
        .about("strategy");
}

// torchtitan's experts take their ranks from those of a shard group.
int expert_shards(int shards, const Parallelism& degrees) {
  int ranks = shards * degrees.tensor, sharing = degrees.sharing_experts();
  if (ranks % sharing != 0)
    throw InputError(fmt::format("{} ranks share all experts, and a shard group has {}", sharing, ranks),
                     fmt::format("write fsdp: {{shard_group: RANKS}}, a multiple of {}",
                                 sharing / std::gcd(sharing, degrees.tensor)))
        .about("fsdp.shard_group");
  return ranks / sharing;
}

}  // namespace

void settle_data_axis(Files& files, const GivenJob& given, const DdpOptions& ddp,
                      const ParallelSection& parallel, const Scenario& scenario, ParallelOptions& options) {
  const auto& strategy = *given.job.strategy;
  auto choice = choice_of(files, given, ddp, scenario);
  int reducing = options.degrees.reducing();
  bool splits_experts = parallel.expert.shape.ranks > 1;
  try {
    check_shares(strategy, &StrategyTraits::shares_models, "a model that GPUs share", "");
    check_several(strategy, reducing);
    if (parallel.pipeline > 1) {
      strategy.check_stages({.choice = choice, .is_said = [&](auto path) { return given.has(path); }});
      check_shares(strategy, &StrategyTraits::shares_stages, "the stages of a pipeline", ", or one stage");
    }
    if (strategy.traits.shards_within_groups) {
      if (!choice.shards) {
        settle_shard_group(files, given, choice);
        choice.shards = shards_of_node(*choice.shards, parallel.tensor);
      }
      check_shards(*choice.shards, reducing);
    }
    if (splits_experts)
      choice.expert_shards = expert_shards(choice.shards.value_or(reducing), options.degrees);
    strategy.check_parts(choice);
    if (splits_experts)
      check_shares(strategy, &StrategyTraits::shares_experts, "experts that ranks share",
                   ", or parallelism: {expert: 1}");
    options.choice = std::move(choice);
  } catch (const InputError& error) {
    auto key =
        error.subject() == "fsdp.shard_group" && !given.has(error.subject()) ? "strategy" : error.subject();
    if (key != "strategy") throw error.at(place_of_plan_error(given, error));
    throw error.at(given.has(key) ? given.at(key) : parallel.place());
  }
}

}  // namespace ddpsim
