#include "sim/study/scale.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/resolve/parallel_section.hpp"

namespace ddpsim {
namespace {

using config::Value;

struct Work {
  std::int64_t micro_batches = 1;  // of a GPU and step
  std::int64_t samples = 1;        // of each; of a model
};

std::int64_t number_at(const Value* value) {
  return value ? static_cast<std::int64_t>(config::as_integer(1, 1e9)(*value)) : 1;
}

// What each of so many GPUs has of that work.
Work dealt_out(const Work& work, std::int64_t from, std::int64_t gpus, bool can_split) {
  auto all = work.micro_batches * from;
  if (all % gpus == 0) return {all / gpus, work.samples};
  auto samples = all * work.samples;
  if (can_split && samples % gpus == 0) return {1, samples / gpus};
  throw InputError(fmt::format("{}{} cannot be shared equally by {} GPUs", counted(all, "micro-batch"),
                               can_split ? fmt::format(" of {}", counted(work.samples, "sample")) : "", gpus),
                   can_split
                       ? std::string("set cluster.world_size or ddp.accumulation_steps, whose product with "
                                     "workload.micro_batch is shared out, or choose other numbers of GPUs")
                       : fmt::format("a trace's micro-batch is not split: name numbers of GPUs that "
                                     "divide {}, like --gpus {}:{}:2",
                                     all, std::gcd(all, std::int64_t{8}), all));
}

}  // namespace

PossibleCounts possible_counts(const Value& root) {
  const auto* groups = config::find_at(root, "cluster.groups");
  if (const auto* group = groups ? groups->find("tensor_parallel") : nullptr) {
    auto ranks = number_at(&group->value);
    return {ranks, ranks > 1 ? 2 * ranks : 1, "cluster.groups"};
  }
  auto given = read_partial_job(root);
  auto section = read_parallel_section(given);
  // Experts are spread over the GPUs of a stage, all copies of the model together.
  auto of_a_stage = std::lcm(std::int64_t{section.tensor} * section.context,
                             static_cast<std::int64_t>(section.expert.shape.ranks));
  auto multiple = of_a_stage * section.pipeline;
  return {multiple, multiple, "parallelism"};
}

std::vector<ScaledScenario> scaled_scenarios(const Value& root, std::span<const int> gpus, Scaling scaling,
                                             Files& files) {
  const auto* micro_batch = config::find_at(root, "workload.micro_batch");
  Work own{number_at(config::find_at(root, "ddp.accumulation_steps")), number_at(micro_batch)};
  auto world = number_at(config::find_at(root, "cluster.world_size"));
  double first = 0;
  std::vector<ScaledScenario> scaled;
  for (int count : gpus) {
    auto changed = root;
    config::apply_override(changed, fmt::format("cluster.world_size={}", count));
    // A global batch stays as it is in strong scaling, and grows with the GPUs in weak.
    if (const auto* batch = config::find_at(root, "batch.global")) {
      auto samples = static_cast<double>(number_at(batch));
      if (scaling == Scaling::weak) {
        if (number_at(batch) * count % world != 0)
          throw InputError(
              batch->span,
              fmt::format("a batch of {} on {} GPUs cannot be scaled to {}: its samples are no longer whole",
                          number_at(batch), world, count),
              "choose other numbers of GPUs");
        config::apply_override(changed, fmt::format("batch.global={}", number_at(batch) * count / world));
        samples = samples / static_cast<double>(world);
      } else {
        samples = samples / count;
      }
      if (scaled.empty()) first = samples;
      scaled.push_back({resolve(files, changed), samples / first});
      continue;
    }
    auto mine = own;
    if (scaling == Scaling::strong) {
      mine = dealt_out(own, world, count, micro_batch != nullptr);
      config::apply_override(changed, fmt::format("ddp.accumulation_steps={}", mine.micro_batches));
      if (micro_batch) config::apply_override(changed, fmt::format("workload.micro_batch={}", mine.samples));
    }
    auto work = static_cast<double>(mine.micro_batches * mine.samples);
    if (scaled.empty()) first = work;
    scaled.push_back({resolve(files, changed), work / first});
  }
  return scaled;
}

}  // namespace ddpsim
