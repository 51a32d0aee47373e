#include "sim/result/iteration_columns.hpp"

#include <algorithm>

namespace ddpsim {

const Columns<SharedModelMetrics::Stage> kStageColumns{
    {"layers", &SharedModelMetrics::Stage::layers},
    {"peak_bytes", [](const auto& stage) { return stage.memory.peak(); }},
    {"allocated_bytes", [](const auto& stage) { return stage.memory.allocated(); }}};

namespace {

// Of a list in a row.
template <class Row, class Parts, class Part>
auto each(Parts Row::*parts, const Columns<Part>& columns) {
  return [parts, &columns](const Row& row) { return fields_of_each(columns, row.*parts); };
}
// Of a part that not every row has.
template <class Row, class Part>
auto nested(std::optional<Part> Row::*part, const Columns<Part>& columns) {
  return of(part, [&columns](const Part& one) { return fields(columns, one); });
}

constexpr unsigned kAlways = kJson | kCsv | kStudy;

// Nothing where it is not of interest.
Cell when(bool is_there, const Cell& cell) {
  return is_there ? cell : Cell();
}

const Columns<ExpectedSlowest> kSlowest{{"ranks", &ExpectedSlowest::ranks},
                                        {"slowdown", &ExpectedSlowest::slowdown}};

const Columns<SlowForTheRun> kSlowForTheRun{
    {"of", [](const auto& slow) { return slow.ones.of == SlowOnes::Of::nodes ? "nodes" : "ranks"; }},
    {"slowdown", [](const auto& slow) { return slow.ones.slowdown; }},
    {"drawn", &SlowForTheRun::drawn},
    {"candidates", &SlowForTheRun::of},
    {"chance_of_any", &SlowForTheRun::chance_of_any}};

const Columns<IterationSpread> kSpread{
    {"count", &IterationSpread::iterations},
    {"seed", &IterationSpread::seed},
    {"reported", [](const auto& spread) { return reported_iteration_name(spread.report); }},
    {"min_s", &IterationSpread::least},
    {"p5_s", &IterationSpread::p5},
    {"median_s", &IterationSpread::median},
    {"p95_s", &IterationSpread::p95},
    {"max_s", &IterationSpread::most},
    {"mean_s", &IterationSpread::mean},
    {"unvaried_s", &IterationSpread::unvaried},
    {"slowest_of", each(&IterationSpread::slowest_of, kSlowest)},
    {"slow_for_the_run",
     [](const auto& spread) {
       return when(!spread.slow_for_the_run.empty(), fields_of_each(kSlowForTheRun, spread.slow_for_the_run));
     },
     kSomeJson}};

using Model = SharedModelMetrics;
const Columns<Model> kSharedModel{
    {"tensor", &Model::tensor},
    {"context", &Model::context},
    {"pipeline", &Model::pipeline},
    {"data", &Model::data},
    {"schedule", &Model::schedule},
    {"virtual", &Model::chunks},
    {"micro_batches", &Model::micro_batches},
    {"expert", [](const auto& model) { return when(model.expert > 1, model.expert); }, kSomeJson},
    {"expert_load", [](const auto& model) { return when(model.expert > 1, model.expert_load); }, kSomeJson},
    {"stages", each(&Model::stages, kStageColumns)}};

const Columns<Loss> kLoss{{"cause", [](const auto& loss) { return loss.row().key; }},
                          {"seconds", &Loss::seconds}};

const Columns<AsynchronousMetrics> kAsynchronous{{"updates_per_s", &AsynchronousMetrics::updates_per_s},
                                                 {"mean_staleness", &AsynchronousMetrics::mean_staleness},
                                                 {"most_staleness", &AsynchronousMetrics::most_staleness}};

Cell goodput_cell(const IterationMetrics& m) {
  if (!m.goodput) return {};
  Cell::Fields all{{"share", m.goodput->share},
                   {"mtbf_s", m.goodput->mtbf},
                   {"checkpoint_interval_s", m.goodput->interval}};
  if (m.tokens_per_s) all.emplace_back("tokens_per_s", m.goodput->share * *m.tokens_per_s);
  return all;
}

Cell cost_of_tokens(const IterationMetrics& m) {
  return m.price && m.tokens_per_s ? Cell(m.cost_per_million_tokens()) : Cell();
}

Cell tokens_of_gpu(const IterationMetrics& m) {
  return m.tokens_per_s ? Cell(*m.tokens_per_s / m.gpus()) : Cell();
}

// In CSV, beside the memory of a model; of one without tokens it is empty.
Cell tokens_of_model(const IterationMetrics& m) {
  if (!m.memory) return {};
  return m.tokens_per_s ? Cell(*m.tokens_per_s) : Cell("");
}

// Where every GPU has the whole model, only ranks that reduce its gradients. Of several groups of ranks
// nobody says what they share.
Cell parallelism_cell(const IterationMetrics& m) {
  if (m.shared_model) return fields(kSharedModel, *m.shared_model);
  if (m.group_size != m.world_size) return {};
  return Cell::Fields{{"tensor", 1}, {"context", 1}, {"pipeline", 1}, {"data", m.group_size}};
}

// Of a prediction that is not sure.
std::function<Cell(const IterationMetrics&)> in_doubt(std::function<Cell(const Uncertainty&)> value) {
  return [value = std::move(value)](const IterationMetrics& m) {
    return m.uncertainty ? value(*m.uncertainty) : Cell();
  };
}

Cell interval_cell(const Interval& interval) {
  return Cell::List{interval.least, interval.most};
}

// What a class is of: "compute", "network", of several networks their names, "experts", "spread".
std::string_view subject_of(const Uncertainty& uncertainty, const EvidenceClass& one) {
  auto networks = std::ranges::count_if(uncertainty.parts(),
                                        [](const auto& part) { return part.of->of == Subject::network; });
  bool is_alone = one.of == Subject::compute || (one.of == Subject::network && networks == 1);
  return is_alone ? name_in(kSubjectNames, one.of) : one.name;
}

Cell evidence_cell(const Uncertainty& uncertainty) {
  Cell::Fields classes, widths;
  for (const auto& part : uncertainty.parts()) {
    auto subject = subject_of(uncertainty, *part.of);
    classes.emplace_back(subject, Cell::Fields{{"class", part.of->name},
                                               {"of", part.what},
                                               {"phrase", part.phrase()},
                                               {"middle", part.line.middle()},
                                               {"sigma", part.line.sigma()},
                                               {"families", part.line.families}});
    widths.emplace_back(subject, part.width);
  }
  constexpr int kSteps = 20;
  Cell::List quantiles;
  auto times = uncertainty.times();
  std::ranges::sort(times);
  for (int i = 1; i < kSteps; ++i)
    quantiles.emplace_back(quantile_of(times, static_cast<double>(i) / kSteps));
  return Cell::Fields{{"interval_80_s", interval_cell(uncertainty.likely())},
                      {"interval_50_s", interval_cell(uncertainty.middle())},
                      {"quantiles_s", std::move(quantiles)},
                      {"draws", uncertainty.times().size()},
                      {"classes", std::move(classes)},
                      {"width_by", std::move(widths)}};
}

Cell error_of_point(const SweepPoint& point) {
  return point.measured ? Cell(relative_error(point.metrics, *point.measured)) : Cell();
}

template <class Row>
Columns<Row> joined(Columns<Row> columns, const Columns<Row>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

}  // namespace

const Columns<MemoryMetrics> kMemoryColumns = [] {
  Columns<MemoryMetrics> all{
      {"peak_bytes", [](const auto& memory) { return memory.parts.peak(); }},
      {"allocated_bytes", [](const auto& memory) { return memory.parts.allocated(); }}};
  for (const auto& part : kMemoryParts)
    all.push_back({part.key, [&part](const auto& memory) { return memory.parts.*part.bytes; }});
  return joined(all, {{"capacity_bytes", &MemoryMetrics::capacity},
                      {"fits", &MemoryMetrics::fits},
                      {"others_peak_bytes", &MemoryMetrics::others, kSomeJson}});
}();

using B = BucketMetrics;
const Columns<B> kTimeColumns{{"ready_s", &B::ready},
                              {"start_s", &B::start},
                              {"end_s", &B::end},
                              {"algorithm", of(&B::choice, &CollectiveChoice::algorithm), kSome},
                              {"protocol", of(&B::choice, &CollectiveChoice::protocol), kSome},
                              {"channels", of(&B::choice, &CollectiveChoice::channels), kSome},
                              {"times", of(&B::choice, &CollectiveChoice::times), kSome}};
const Columns<B> kBucketColumns =
    joined({{"index", &B::index},
            {"bytes", &B::bytes},
            {"wire_bytes", [](const B& b) { return when(b.wire != b.bytes, b.wire); }, kSomeJson},
            {"n_gradients", &B::n_gradients}},
           kTimeColumns);

using O = OperationMetrics;
const Columns<O> kOperationColumns{
    {"axis", &O::axis},   {"operation", [](const O& o) { return operation_name(o.operation); }},
    {"count", &O::count}, {"bytes", &O::bytes},
    {"busy_s", &O::busy}, {"exposed_s", &O::exposed}};

using M = IterationMetrics;
const Columns<M> kIterationColumns{
    {"world_size", &M::world_size, kAlways},
    {"strategy", [](const M& m) { return m.strategy->name(); }, kAlways},
    {"bucket_cap_bytes", &M::bucket_cap, kAlways},
    {"n_buckets", &M::n_buckets, kAlways},
    {"forward_s", &M::forward},
    {"backward_compute_s", &M::backward_compute},
    {"interference_s", &M::interference},
    {"overhead_s", &M::overhead},
    {"evidence", in_doubt(evidence_cell), kSomeJson},
    {"iterations", nested(&M::spread, kSpread), kSomeJson},
    {"tail_s", [](const M& m) { return when(m.overhead > Seconds(), m.tail); }, kSomeJson},
    {"communication_s", &M::communication},
    {"exposed_communication_s", &M::exposed_communication, kAlways},
    {"buffer_broadcast_s",
     [](const M& m) { return when(m.buffer_broadcast > Seconds(), m.buffer_broadcast); }, kSomeJson},
    {"parallelism", parallelism_cell, kSomeJson},
    {"bubble_s",
     [](const M& m) { return when(m.shared_model.has_value() || m.bubble > Seconds(), m.bubble); }, kSome},
    {"optimizer_s", &M::optimizer},
    {"iteration_s", &M::iteration, kAlways},
    {"micro_batch_s", [](const M& m) { return when(m.micro_batches > 1, m.micro_batch()); }, kSomeJson},
    {"losses", each(&M::losses, kLoss), kJson},
    {"algorithm", &M::algorithm},
    {"nccl_version", [](const M& m) { return when(!m.nccl_version.empty(), m.nccl_version); }, kSomeJson},
    {"fidelity", &M::fidelity},
    {"network", &M::network},
    {"simulated_flows", &M::simulated_flows},
    {"communication", each(&M::operations, kOperationColumns), kJson},
    {"collective_workers", [](const M& m) { return when(m.collective_workers > 1, m.collective_workers); },
     kSomeJson},
    {"algbw_Bps", &M::algbw},
    {"busbw_Bps", &M::busbw},
    {"samples_per_s", &M::samples_per_s},
    {"p10_s", in_doubt([](const auto& one) { return one.likely().least; }), kSomeCsv | kStudy},
    {"p25_s", in_doubt([](const auto& one) { return one.middle().least; }), kSomeCsv},
    {"p75_s", in_doubt([](const auto& one) { return one.middle().most; }), kSomeCsv},
    {"p90_s", in_doubt([](const auto& one) { return one.likely().most; }), kSomeCsv | kStudy},
    {"iterations", of(&M::spread, &IterationSpread::iterations), kSomeCsv},
    {"p5_s", of(&M::spread, &IterationSpread::p5), kSomeCsv | kStudy},
    {"median_s", of(&M::spread, &IterationSpread::median), kSomeCsv | kStudy},
    {"p95_s", of(&M::spread, &IterationSpread::p95), kSomeCsv | kStudy},
    {"mean_s", of(&M::spread, &IterationSpread::mean), kSomeCsv},
    {"unvaried_s", of(&M::spread, &IterationSpread::unvaried), kSomeCsv},
    {"tokens_per_s", &M::tokens_per_s, kSomeJson | kStudy},
    {"tokens_per_s", tokens_of_model, kSomeCsv},
    {"tokens_per_s_per_gpu", tokens_of_gpu, kSomeJson},
    {"model_parameters", of(&M::model, &ModelSize::parameters), kSomeJson},
    {"active_parameters", of(&M::model, &ModelSize::active), kSomeJson},
    {"model_flops_per_s_per_gpu", of(&M::compute, &ComputeRates::model), kSomeJson},
    {"mfu", of(&M::compute, &ComputeRates::mfu), kSome | kStudy},
    {"hfu", of(&M::compute, &ComputeRates::hfu), kSomeJson},
    {"asynchronous", nested(&M::asynchronous, kAsynchronous), kSomeJson},
    {"memory", nested(&M::memory, kMemoryColumns), kSomeJson},
    {"memory_peak_bytes", of(&M::memory, [](const auto& one) { return one.parts.peak(); }),
     kSomeCsv | kStudy},
    {"memory_fits", of(&M::memory, &MemoryMetrics::fits), kSomeCsv | kStudy},
    {"fit", of(&M::memory, [](const auto& one) { return fit_cell(one.fit()); }), kTables},
    {"cost_per_step", [](const M& m) { return m.price ? Cell(m.cost_per_step()) : Cell(); },
     kSomeJson | kStudy},
    {"cost_per_million_tokens", cost_of_tokens, kSomeJson},
    {"training_days", &M::training_days, kSomeJson | kStudy},
    {"training_cost", &M::training_cost, kSomeJson | kStudy},
    {"goodput", goodput_cell, kSomeJson},
    {"scaling_efficiency", &M::scaling_efficiency},
    {"comm_frac", [](const M& m) { return m.communication_cost() / m.iteration; }, kAlways},
    {"reported_rank", &M::reported_rank},
    {"group_size", &M::group_size},
    {"construction_broadcast_s", &M::construction_broadcast, kSomeJson},
    {"all_reduce_times", [](const M& m) { return when(!m.sources_of_times.empty(), m.sources_of_times); },
     kSomeJson},
    {"trace_synthetic", &M::trace_synthetic, kSome}};

using P = SweepPoint;
const Columns<Odds> kOddsColumns{
    {"p_best", &Odds::p_best, kSome}, {"regret", &Odds::regret, kSome}, {"tied", &Odds::is_tied, kSomeJson}};
const Columns<P> kMeasuredColumns{
    {"measured_iteration_s", of(&P::measured, &MeasuredIteration::iteration), kSomeJson | kCsv},
    {"measured_iteration_std_s", of(&P::measured, &MeasuredIteration::spread), kSomeJson | kCsv},
    {"relative_error", error_of_point, kSomeJson | kCsv}};

const Columns<P> kPointColumns = [] {
  Columns<P> all;
  for (const auto& one : kIterationColumns)
    all.push_back({one.key, [&one](const P& point) { return one.value(point.metrics); }, one.in});
  return joined(joined(all, odds_columns(&P::odds)), kMeasuredColumns);
}();

}  // namespace ddpsim
