#include "sim/study/explain_shared.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/study/explain_sharding.hpp"

namespace ddpsim {
namespace {

bool is_within_passes(std::string_view axis) {
  return axis == "tensor" || axis == "context" || axis == "expert";
}

// What compute waited for most, of communication that is not in the passes.
std::string most_exposed(const IterationMetrics& m, Seconds waited) {
  std::vector<const OperationMetrics*> exposed;
  for (const auto& one : m.operations)
    if (one.exposed > Seconds() && !is_within_passes(one.axis)) exposed.push_back(&one);
  std::stable_sort(exposed.begin(), exposed.end(),
                   [](const auto* a, const auto* b) { return a->exposed > b->exposed; });
  constexpr std::size_t kMost = 3;
  Seconds sum;
  for (const auto* one : exposed) sum += one->exposed;
  std::string text = sum > 1.0001 * waited ? ", in part for several at once" : "";
  for (std::size_t i = 0; i < std::min(exposed.size(), kMost); ++i)
    text += fmt::format("{}{} {} {}", i == 0 ? ": " : ", ", exposed[i]->axis,
                        operation_name(exposed[i]->operation), format_seconds(exposed[i]->exposed));
  return text;
}

std::string words_of(const Loss& loss, const IterationMetrics& m) {
  std::string text(loss.row().meaning);
  if (loss.cause == LossCause::ends) text += most_exposed(m, loss.seconds);
  if (loss.cause == LossCause::bubble && m.shared_model)
    text += fmt::format(": {}, {}", counted(m.shared_model->stages.size(), "stage"),
                        counted(m.shared_model->micro_batches, "micro-batch"));
  return text;
}

struct Axis {
  const char* name;
  int degree;
};

// Data parallelism takes what they leave.
void add_degrees(const WhatIf& what_if, const Parallelism& degrees, bool has_experts,
                 std::vector<Change>& changes) {
  auto add = [&](std::vector<Axis> axes) {
    Change change;
    for (const auto& [name, degree] : axes) {
      change.name += fmt::format("{}{} {}", change.name.empty() ? "" : ", ", name, degree);
      change.overrides.push_back(fmt::format("parallelism.{}={}", name, degree));
    }
    if (what_if.find("parallelism.data")) change.overrides.emplace_back("parallelism.data=auto");
    changes.push_back(std::move(change));
  };
  std::vector<Axis> axes{{"tensor", degrees.tensor}, {"pipeline", degrees.pipeline}};
  if (degrees.context > 1) axes.push_back({"context", degrees.context});
  if (has_experts) axes.push_back({"expert", degrees.expert.ranks});
  for (const auto& [name, degree] : axes) {
    add({{name, 2 * degree}});
    if (degree % 2 == 0) add({{name, degree / 2}});
  }
  if (degrees.pipeline % 2 == 0) add({{"tensor", 2 * degrees.tensor}, {"pipeline", degrees.pipeline / 2}});
  if (degrees.tensor % 2 == 0) add({{"tensor", degrees.tensor / 2}, {"pipeline", 2 * degrees.pipeline}});
}

void add_schedules(const PipelineShape& shape, std::vector<Change>& changes) {
  if (shape.ranks == 1) return;
  auto add = [&](PipelineSchedule schedule, int chunks) {
    auto name = fmt::format("pipeline.schedule {}", name_in(kPipelineScheduleNames, schedule));
    if (schedule == PipelineSchedule::interleaved) name += fmt::format(", virtual {}", chunks);
    changes.push_back({name,
                       {fmt::format("pipeline.schedule={}", name_in(kPipelineScheduleNames, schedule)),
                        fmt::format("pipeline.virtual={}", chunks)}});
  };
  for (auto schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble})
    if (schedule != shape.schedule) add(schedule, 1);
  // Its two directions are its chunks.
  if (!shape.is_dual()) changes.push_back({"pipeline.schedule dualpipe", {"pipeline={schedule: dualpipe}"}});
  int chunks = shape.schedule == PipelineSchedule::interleaved ? shape.chunks : 1;
  add(PipelineSchedule::interleaved, 2 * chunks);
  if (chunks > 2 && chunks % 2 == 0) add(PipelineSchedule::interleaved, chunks / 2);
}

// But for the kernels of low latency, which have no backward pass in any framework. Those that this job
// cannot have are left out as other changes are.
void add_dispatchers(Dispatcher now, std::vector<Change>& changes) {
  for (auto other : {Dispatcher::all_to_all, Dispatcher::all_gather, Dispatcher::deepep, Dispatcher::rack}) {
    if (other == now) continue;
    auto set = fmt::format("expert.dispatcher={}", name_in(kDispatcherNames, other));
    changes.push_back({fmt::format("expert.dispatcher {}", name_in(kDispatcherNames, other)), {set}});
  }
}

void add_micro_batches(const Scenario& scenario, std::vector<Change>& changes) {
  auto samples = scenario.trace->metadata.batch_size.value_or(1);
  auto add = [&](std::int64_t micro_batch) {
    changes.push_back({fmt::format("workload.micro_batch {}", micro_batch),
                       {fmt::format("workload.micro_batch={}", micro_batch)}});
  };
  add(2 * samples);
  if (samples % 2 == 0) add(samples / 2);
}

}  // namespace

void explain_losses(std::ostream& out, const IterationMetrics& m) {
  auto losses = m.losses;
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  Seconds lost;
  for (const auto& loss : losses) lost += loss.seconds;
  auto percent = [&](Seconds part) { return fmt::format("{:.1f} %", 100 * (part / m.iteration)); };
  out << fmt::format("\nof {}, {} ({}) are forward and backward of a usual GPU; the rest is lost to\n",
                     format_seconds(m.iteration), format_seconds(m.iteration - lost),
                     percent(m.iteration - lost));
  constexpr double kWorthALine = 0.0005;
  for (const auto& loss : losses)
    if (loss.seconds > kWorthALine * m.iteration)
      out << fmt::format("  {:>11} {:>7}  {}\n", format_seconds(loss.seconds), percent(loss.seconds),
                         words_of(loss, m));
}

void add_shared_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes) {
  const auto& options = scenario.parallel->options;
  const auto& degrees = options.degrees;
  add_degrees(what_if, degrees, what_if.find("parallelism.expert") != nullptr, changes);
  add_schedules(options.shape, changes);
  if (degrees.expert.ranks > 1) add_dispatchers(degrees.expert.dispatcher, changes);
  add_micro_batches(scenario, changes);
  add_bucket_sizes(what_if, changes);
  add_strategies(scenario, changes, [](const auto& one) { return one.shares_models; });
  changes.push_back({.name = "all links of twice the bandwidth", .links = {2, 1}});
  if (scenario.communication->nccl.empty())
    changes.push_back({.name = "all latencies halved", .links = {1, 0.5}});
}

}  // namespace ddpsim
