#include "sim/report/trace_report.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/report/csv_parts.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json time_or_null(const std::optional<Seconds>& time) {
  return time ? Json(time->value()) : Json(nullptr);
}

Json bytes_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? json::bytes(*bytes) : Json(nullptr);
}

Json interval_json(const CapInterval& caps) {
  return {{"least_bytes", json::bytes(caps.smallest)}, {"most_bytes", bytes_or_null(caps.largest)}};
}

void add_buckets(const LayerTrace& trace, const ReductionPlan& plan, Json& all) {
  all["bucket_cap_bytes"] = bytes_or_null(plan.bucket_cap);
  all["first_bucket_cap_bytes"] =
      bytes_or_null(plan.first_bucket_cap ? plan.first_bucket_cap : plan.bucket_cap);
  auto& buckets = all["buckets"] = Json::array();
  auto ready = bucket_ready_times(trace, plan);
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    buckets.push_back({{"index", i},
                       {"bytes", json::bytes(plan.buckets[i].bytes)},
                       {"n_gradients", plan.buckets[i].gradients.size()},
                       {"ready_s", ready[i].value()}});
}

}  // namespace

std::string trace_json(const LayerTrace& trace, const TraceReport& report) {
  const auto& metadata = trace.metadata;
  Json all;
  all["trace"] = report.file;
  all["model"] = value_or_null(metadata.model);
  all["device"] = value_or_null(metadata.device);
  all["batch_size"] = value_or_null(metadata.batch_size);
  all["sequence_length"] = value_or_null(metadata.sequence_length);
  all["torch"] = value_or_null(metadata.torch);
  all["captured"] = value_or_null(metadata.captured);
  all["source"] = value_or_null(metadata.source);
  all["trace_synthetic"] = value_or_null(synthetic_mark(metadata));
  all["forward_s"] = time_or_null(trace.forward);
  all["backward_s"] = trace.backward().value();
  all["optimizer_s"] = time_or_null(trace.optimizer);
  auto& buffers = all["buffers_bytes"] = Json::array();
  for (auto one : trace.buffers) buffers.push_back(json::bytes(one));
  all["registration_recorded"] = !trace.registration_guessed;
  all["bytes"] = json::bytes(trace.bytes());
  auto& gradients = all["gradients"] = Json::array();
  for (const auto& one : trace.gradients)
    gradients.push_back({{"gradient", one.name.str()},
                         {"elements", one.elements},
                         {"dtype", dtype_name(one.dtype)},
                         {"bytes", json::bytes(one.bytes())},
                         {"ready_s", one.ready.value()},
                         {"ready_std_s", time_or_null(one.ready_spread)}});
  if (report.plan) add_buckets(trace, *report.plan, all);
  if (report.recorded_caps) {
    auto& caps = all["recorded_caps"] = Json::array();
    for (const auto& one : *report.recorded_caps)
      caps.push_back(
          {{"first_bucket_cap", interval_json(one.first)}, {"bucket_cap", interval_json(one.later)}});
  }
  all["notes"] = json::notes(report.notes);
  return json::text_of(all);
}

std::string trace_table_csv(const LayerTrace& trace, const TraceReport& report) {
  if (report.plan) {
    auto text = csv::line_of({"index", "bytes", "n_gradients", "ready_s"});
    auto ready = bucket_ready_times(trace, *report.plan);
    const auto& buckets = report.plan->buckets;
    for (std::size_t i = 0; i < buckets.size(); ++i)
      text += csv::line_of({fmt::format("{}", i), csv::bytes(buckets[i].bytes),
                            fmt::format("{}", buckets[i].gradients.size()), csv::seconds(ready[i])});
    return text;
  }
  auto text = csv::line_of({"gradient", "elements", "dtype", "bytes", "ready_s"});
  for (const auto& one : trace.gradients)
    text += csv::line_of({one.name.str(), fmt::format("{}", one.elements), std::string(dtype_name(one.dtype)),
                          csv::bytes(one.bytes()), csv::seconds(one.ready)});
  return text;
}

}  // namespace ddpsim
