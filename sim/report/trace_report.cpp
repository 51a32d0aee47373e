#include "sim/report/trace_report.hpp"

#include "sim/report/csv_parts.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

struct PlannedBucket {
  std::size_t index = 0, n_gradients = 0;
  Bytes bytes;
  Seconds ready;
};

std::vector<PlannedBucket> buckets_of(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<PlannedBucket> buckets;
  for (auto ready : bucket_ready_times(trace, plan)) {
    const auto& bucket = plan.buckets[buckets.size()];
    buckets.push_back({buckets.size(), bucket.gradients.size(), bucket.bytes, ready});
  }
  return buckets;
}

const Columns<PlannedBucket> kPlannedColumns{{"index", &PlannedBucket::index},
                                             {"bytes", &PlannedBucket::bytes},
                                             {"n_gradients", &PlannedBucket::n_gradients},
                                             {"ready_s", &PlannedBucket::ready}};

const Columns<Gradient> kGradientColumns{{"gradient", [](const auto& one) { return one.name.str(); }},
                                         {"elements", &Gradient::elements},
                                         {"dtype", [](const auto& one) { return dtype_name(one.dtype); }},
                                         {"bytes", &Gradient::bytes},
                                         {"ready_s", &Gradient::ready},
                                         {"ready_std_s", &Gradient::ready_spread, kJson}};

Cell interval(const CapInterval& caps) {
  return Cell::Fields{{"least_bytes", caps.smallest}, {"most_bytes", caps.largest}};
}

}  // namespace

std::string trace_json(const LayerTrace& trace, const TraceReport& report) {
  const auto& metadata = trace.metadata;
  Cell::Fields fields{{"trace", report.file},
                      {"model", metadata.model},
                      {"device", metadata.device},
                      {"batch_size", metadata.batch_size},
                      {"sequence_length", metadata.sequence_length},
                      {"torch", metadata.torch},
                      {"captured", metadata.captured},
                      {"source", metadata.source},
                      {"trace_synthetic", synthetic_mark(metadata)},
                      {"forward_s", trace.forward},
                      {"backward_s", trace.backward()},
                      {"optimizer_s", trace.optimizer},
                      {"buffers_bytes", trace.buffers},
                      {"registration_recorded", !trace.registration_guessed},
                      {"bytes", trace.bytes()},
                      {"gradients", fields_of_each(kGradientColumns, trace.gradients)}};
  if (const auto& plan = report.plan)
    json::append(fields, {{"bucket_cap_bytes", plan->bucket_cap},
                          {"first_bucket_cap_bytes",
                           plan->first_bucket_cap ? plan->first_bucket_cap : plan->bucket_cap},
                          {"buckets", fields_of_each(kPlannedColumns, buckets_of(trace, *plan))}});
  if (report.recorded_caps) {
    Cell::List caps;
    for (const auto& one : *report.recorded_caps)
      caps.emplace_back(
          Cell::Fields{{"first_bucket_cap", interval(one.first)}, {"bucket_cap", interval(one.later)}});
    fields.emplace_back("recorded_caps", caps);
  }
  fields.emplace_back("notes", json::notes(report.notes));
  return json::text_of(fields);
}

std::string trace_table_csv(const LayerTrace& trace, const TraceReport& report) {
  return report.plan ? csv::table(kPlannedColumns, buckets_of(trace, *report.plan))
                     : csv::table(kGradientColumns, trace.gradients);
}

}  // namespace ddpsim
