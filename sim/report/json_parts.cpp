#include "sim/report/json_parts.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

namespace ddpsim::json {

Json bytes(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.value());
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json axes(const std::vector<std::string>& axes, const std::vector<std::string>& values) {
  auto json = Json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) json[axes[i]] = values.at(i);
  return json;
}

namespace {

Json spread_json(const IterationSpread& spread) {
  Json json;
  json["count"] = spread.iterations;
  json["seed"] = spread.seed;
  json["reported"] = reported_iteration_name(spread.report);
  json["min_s"] = spread.least.value();
  json["p5_s"] = spread.p5.value();
  json["median_s"] = spread.median.value();
  json["p95_s"] = spread.p95.value();
  json["max_s"] = spread.most.value();
  json["mean_s"] = spread.mean.value();
  json["unvaried_s"] = spread.unvaried.value();
  auto& slowest = json["slowest_of"] = Json::array();
  for (const auto& [ranks, slowdown] : spread.slowest_of)
    slowest.push_back({{"ranks", ranks}, {"slowdown", slowdown}});
  for (const auto& slow : spread.slow_for_the_run)
    json["slow_for_the_run"].push_back({{"of", slow.ones.of == SlowOnes::Of::nodes ? "nodes" : "ranks"},
                                        {"slowdown", slow.ones.slowdown},
                                        {"drawn", slow.drawn},
                                        {"candidates", slow.of},
                                        {"chance_of_any", slow.chance_of_any()}});
  return json;
}

}  // namespace

Json memory_json(const MemoryMetrics& memory) {
  const auto& parts = memory.parts;
  Json json{{"peak_bytes", bytes(parts.peak())},
            {"parameters_bytes", bytes(parts.parameters)},
            {"gradients_bytes", bytes(parts.gradients)},
            {"optimizer_bytes", bytes(parts.optimizer)},
            {"activations_bytes", bytes(parts.activations)},
            {"buckets_bytes", bytes(parts.buckets)},
            {"other_bytes", bytes(parts.other)},
            {"capacity_bytes", bytes(memory.capacity)},
            {"fits", memory.fits()}};
  if (memory.others) json["others_peak_bytes"] = bytes(*memory.others);
  return json;
}

namespace {

Json shared_model_json(const SharedModelMetrics& model) {
  Json json{{"tensor", model.tensor},
            {"context", model.context},
            {"pipeline", model.pipeline},
            {"data", model.data},
            {"schedule", model.schedule},
            {"virtual", model.chunks},
            {"micro_batches", model.micro_batches}};
  if (model.expert > 1) {
    json["expert"] = model.expert;
    json["expert_load"] = model.expert_load;
  }
  auto& stages = json["stages"] = Json::array();
  for (const auto& stage : model.stages)
    stages.push_back({{"layers", stage.layers}, {"peak_bytes", bytes(stage.peak)}});
  return json;
}

// What the iteration is made of.
void add_terms(const IterationMetrics& m, Json& point) {
  point["forward_s"] = m.forward.value();
  point["backward_compute_s"] = m.backward_compute.value();
  point["interference_s"] = m.interference.value();
  point["overhead_s"] = m.overhead.value();
  if (m.range) {
    point["iteration_range_s"] = {m.range->least.value(), m.range->most.value()};
    point["iteration_range_of"] = m.range->of;
  }
  if (m.spread) point["iterations"] = spread_json(*m.spread);
  if (m.overhead > Seconds(0)) point["tail_s"] = m.tail.value();
  point["communication_s"] = m.communication.value();
  point["exposed_communication_s"] = m.exposed_communication.value();
  if (m.buffer_broadcast > Seconds(0)) point["buffer_broadcast_s"] = m.buffer_broadcast.value();
  if (m.shared_model) {
    point["parallelism"] = shared_model_json(*m.shared_model);
    point["bubble_s"] = m.bubble.value();
  }
  point["optimizer_s"] = m.optimizer.value();
  point["iteration_s"] = m.iteration.value();
  if (m.micro_batches > 1) point["micro_batch_s"] = m.micro_batch().value();
  auto& losses = point["losses"] = Json::array();
  for (const auto& loss : m.losses)
    losses.push_back({{"cause", loss.row().key}, {"seconds", loss.seconds.value()}});
}

void add_communication(const IterationMetrics& m, Json& point) {
  point["algorithm"] = m.algorithm;
  if (!m.nccl_version.empty()) point["nccl_version"] = m.nccl_version;
  point["fidelity"] = m.fidelity;
  point["network"] = m.network;
  point["simulated_flows"] = m.simulated_flows;
  auto& operations = point["communication"] = Json::array();
  for (const auto& one : m.operations)
    operations.push_back({{"axis", one.axis},
                          {"operation", operation_name(one.operation)},
                          {"bytes", bytes(one.bytes)},
                          {"count", one.count},
                          {"busy_s", one.busy.value()},
                          {"exposed_s", one.exposed.value()}});
  if (m.collective_workers > 1) point["collective_workers"] = m.collective_workers;
  point["algbw_Bps"] = m.algbw.value();
  point["busbw_Bps"] = m.busbw.value();
}

void add_rates(const IterationMetrics& m, Json& point) {
  point["samples_per_s"] = number_or_null(m.samples_per_s);
  if (m.tokens_per_s) {
    point["tokens_per_s"] = *m.tokens_per_s;
    point["tokens_per_s_per_gpu"] = *m.tokens_per_s / m.gpus();
  }
  if (m.compute) {
    point["model_flops_per_s_per_gpu"] = m.compute->model.value();
    point["mfu"] = m.compute->mfu();
    point["hfu"] = m.compute->hfu();
  }
  if (const auto& servers = m.asynchronous)
    point["asynchronous"] = {{"updates_per_s", servers->updates_per_s},
                             {"mean_staleness", servers->mean_staleness},
                             {"most_staleness", servers->most_staleness}};
}

void add_costs(const IterationMetrics& m, Json& point) {
  if (m.memory) point["memory"] = memory_json(*m.memory);
  if (m.price) {
    point["cost_per_step"] = m.cost_per_step();
    if (m.tokens_per_s) point["cost_per_million_tokens"] = m.cost_per_million_tokens();
  }
  if (m.goodput) {
    auto& goodput = point["goodput"] = {{"share", m.goodput->share},
                                        {"mtbf_s", m.goodput->mtbf.value()},
                                        {"checkpoint_interval_s", m.goodput->interval.value()}};
    if (m.tokens_per_s) goodput["tokens_per_s"] = m.goodput->share * *m.tokens_per_s;
  }
}

}  // namespace

void add_metrics(const IterationMetrics& m, Json& point) {
  point["world_size"] = m.world_size;
  point["strategy"] = m.strategy->name();
  point["bucket_cap_bytes"] = m.bucket_cap ? bytes(*m.bucket_cap) : Json(nullptr);
  point["n_buckets"] = m.n_buckets;
  add_terms(m, point);
  add_communication(m, point);
  add_rates(m, point);
  add_costs(m, point);
  point["scaling_efficiency"] = number_or_null(m.scaling_efficiency);
  point["comm_frac"] = m.communication_cost() / m.iteration;
  point["reported_rank"] = m.reported_rank;
  point["group_size"] = m.group_size;
  if (m.construction_broadcast) point["construction_broadcast_s"] = m.construction_broadcast->value();
  if (const auto& sources = m.sources_of_times; !sources.empty()) point["all_reduce_times"] = sources;
  if (m.trace_synthetic) point["trace_synthetic"] = *m.trace_synthetic;
}

void add_times(const BucketMetrics& b, Json& collective) {
  collective["ready_s"] = b.ready.value();
  collective["start_s"] = b.start.value();
  collective["end_s"] = b.end.value();
  if (!b.choice) return;
  collective["algorithm"] = b.choice->algorithm;
  collective["protocol"] = b.choice->protocol;
  collective["channels"] = b.choice->channels;
  collective["times"] = b.choice->times;
}

Json scenario(const ScenarioInfo& scenario) {
  Json json;
  json["file"] = scenario.file;
  json["set"] = scenario.set;
  auto& axes = json["axes"] = Json::object();
  for (const auto& axis : scenario.axes) axes[axis.key] = axis.values;
  return json;
}

Json notes(const std::vector<Note>& notes) {
  auto json = Json::array();
  for (const auto& note : notes) json.push_back({{"code", note.code}, {"text", note.text}});
  return json;
}

Json tool(const ToolInfo& tool) {
  Json json;
  json["version"] = tool.version;
  json["simgrid"] = tool.simgrid;
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ddpsim::json
