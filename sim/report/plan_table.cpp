#include "sim/report/plan_table.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

// Steps of tensor and pipeline parallelism are predicted to some 5 % (docs/accuracy.md): closer ones are
// ties.
constexpr double kTie = 0.02;

// Which degrees have a column: those that some plan has.
struct SplitColumns {
  bool context = false, expert = false;
};

std::string split_of(const IterationMetrics& m, const SplitColumns& columns) {
  auto of_context = [&](int degree) {
    return columns.context ? fmt::format(" {:>7}", degree) : std::string();
  };
  auto of_expert = [&](int degree) { return columns.expert ? fmt::format(" {:>6}", degree) : std::string(); };
  if (!m.shared_model)
    return fmt::format("{:>6}{}{} {:>5} {:>8}", 1, of_context(1), of_expert(1), m.world_size, 1);
  const auto& model = *m.shared_model;
  auto pipeline = model.chunks > 1 ? fmt::format("{} x {}", model.pipeline, model.chunks)
                                   : fmt::format("{}", model.pipeline);
  return fmt::format("{:>6}{}{} {:>5} {:>8}", model.tensor, of_context(model.context),
                     of_expert(model.expert), model.data, pipeline);
}

// For a shell.
std::string as_typed(const PlannedPoint::Setting& setting) {
  auto text = fmt::format("{}={}", setting.first, setting.second);
  return text.find_first_of(" {") == std::string::npos ? text : fmt::format("'{}'", text);
}

// The two that cost most.
std::string losses_of(const IterationMetrics& m) {
  auto losses = m.losses;
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, losses.size()); ++i)
    texts.push_back(fmt::format("{} {:.1f} %", losses[i].row().key, 100 * (losses[i].seconds / m.iteration)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_bucket_sizes(std::ostream& out, const Plan& plan) {
  if (plan.bucket_sizes == 0) return;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < plan.best.size(); ++i)
    if (const auto& size = plan.best[i].bucket_size)
      kept.push_back(fmt::format("{} makes plan {} {:.1f} % faster, as shown", as_typed(*size), i + 1,
                                 100 * plan.best[i].bucket_size_saves));
  out << fmt::format("{} of the fastest: {}\n", counted(plan.bucket_sizes, "other bucket size"),
                     kept.empty() ? "none saves 0.5 %" : fmt::format("{}", fmt::join(kept, ", ")));
}

// How sure the first is, and which it is not told apart from, by their rows.
void print_odds(std::ostream& out, const Plan& plan) {
  constexpr std::size_t kNamed = 3;
  const auto& first = plan.best.front();
  const auto& sure = first.metrics.uncertainty;
  if (!sure) return;
  out << fmt::format("80 % sure of plan 1: {} to {} ({})\n", format_seconds(sure->likely().least),
                     format_seconds(sure->likely().most), fmt::join(sure->phrases(), "; "));
  if (!first.odds) return;
  std::vector<std::string> fastest, tied;
  for (std::size_t i = 0; i < plan.best.size(); ++i) {
    const auto& odds = plan.best[i].odds;
    if (!odds) continue;
    if (fastest.size() < kNamed)
      fastest.push_back(fmt::format("plan {} {:.0f} %", i + 1, 100 * odds->p_best));
    if (i > 0 && odds->is_tied) tied.push_back(fmt::format("{}", i + 1));
  }
  if (fastest.size() < 2) return;
  out << fmt::format("fastest: {}; plan 1 loses {:.1f} % on average", fmt::join(fastest, ", "),
                     100 * first.odds->regret);
  if (!tied.empty())
    out << fmt::format("; not told apart from it: {} {}", tied.size() == 1 ? "plan" : "plans",
                       fmt::join(tied, ", "));
  out << '\n';
}

void print_counts(std::ostream& out, const Plan& plan) {
  out << fmt::format("{}: {} do not fit, {} simulated, {} skipped, which cannot be faster than those\n",
                     counted(plan.considered, "combination"), plan.too_large, plan.simulated, plan.ruled_out);
}

}  // namespace

std::string setting(const std::vector<PlannedPoint::Setting>& settings, std::string_view key) {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return "";
}

std::size_t Plan::chosen() const {
  auto is_plain = [](const PlannedPoint& point) {
    return point.odds && point.odds->is_tied && !point.metrics.shared_model && !point.bucket_size &&
           point.metrics.strategy == &usual_strategy();
  };
  auto found = std::find_if(best.begin(), best.end(), is_plain);
  return found == best.end() ? 0 : static_cast<std::size_t>(found - best.begin());
}

namespace {

// How far the launch file's own step is from the best.
void print_launched(std::ostream& out, const Plan& plan) {
  if (!plan.launched) return;
  const auto& [file, has_micro_batch, metrics, refusal] = *plan.launched;
  out << fmt::format("\nas {}{} has it", file, has_micro_batch ? "" : ", with a micro-batch of 1,");
  if (!metrics) {
    out << fmt::format(" there is no step: {}\n", refusal);
    return;
  }
  out << ": " << format_seconds(metrics->iteration);
  if (metrics->memory && !metrics->memory->fits())
    out << fmt::format(", which does not fit: {:.1f} GB", metrics->memory->parts.peak().value() / 1e9);
  if (!plan.best.empty())
    out << fmt::format(", {:.2f} times the best above",
                       metrics->iteration / plan.best[plan.chosen()].metrics.iteration);
  out << "\n";
}

}  // namespace

void print_plan(std::ostream& out, const Plan& plan, double most_memory) {
  if (plan.best.empty()) {
    std::vector<std::string> smallest;
    for (const auto& one : plan.smallest) smallest.push_back(as_typed(one));
    out << fmt::format("nothing fits: the smallest takes {:.2f} times a GPU's memory: {}\n",
                       plan.least_memory, fmt::join(smallest, " "));
    print_counts(out, plan);
    return print_launched(out, plan);
  }
  SplitColumns columns;
  for (const auto& point : plan.best) {
    if (!point.metrics.shared_model) continue;
    columns.context |= point.metrics.shared_model->context > 1;
    columns.expert |= point.metrics.shared_model->expert > 1;
  }
  out << fmt::format("{:>12} {:>10} {:>6} {:>9}  {:>6}{}{} {:>5} {:>8} {:>11} {:<10} {:<9}  {}\n",
                     "iteration s", "tokens/s/G", "MFU", "memory GB", "tensor",
                     columns.context ? " context" : "", columns.expert ? " expert" : "", "data", "pipeline",
                     "micro-batch", "recompute", "strategy", "lost to");
  const auto& first = plan.best.front().metrics;
  std::size_t ties = 0;
  for (const auto& point : plan.best) {
    const auto& m = point.metrics;
    ties += m.iteration <= (1 + kTie) * first.iteration;
    auto micro_batches = fmt::format("{}", setting(point.settings, "workload.micro_batch"));
    out << fmt::format("{:>12.4f} {:>10.0f} {:>5.1f}% {:>9.1f}  {} {:>11} {:<10} {:<9}  {}\n",
                       m.iteration.value(), m.tokens_per_s.value_or(0) / m.gpus(),
                       m.compute ? 100 * m.compute->mfu() : 0, m.memory->parts.peak().value() / 1e9,
                       split_of(m, columns), micro_batches, setting(point.settings, "workload.recompute"),
                       setting(point.settings, "strategy"), losses_of(m));
  }
  if (first.uncertainty)
    print_odds(out, plan);
  else if (ties > 1)
    out << fmt::format(
        "the first {} are within {:.0f} % of one another: ties, by what such estimates are off\n", ties,
        100 * kTie);
  print_bucket_sizes(out, plan);
  std::vector<std::string> settings;
  const auto& chosen = plan.best[plan.chosen()];
  for (const auto& one : chosen.settings) settings.push_back("--set " + as_typed(one));
  out << fmt::format("best: {} (--out writes it as a scenario)\n", fmt::join(settings, " "));
  if (auto training = training_text(chosen.metrics); !training.empty()) out << training << '\n';
  print_counts(out, plan);
  if (most_memory != kFittingShare)
    out << fmt::format("up to {:.0f} % of a GPU's memory\n", 100 * most_memory);
  print_launched(out, plan);
}

std::string plan_json(const Plan& plan, const std::vector<Note>& notes, const ToolInfo& tool) {
  Cell::List points;
  for (const auto& point : plan.best) {
    Cell::Fields set, one;
    for (const auto& [key, value] : point.settings) set.emplace_back(key, value);
    if (!set.empty()) one.emplace_back("set", set);
    if (point.bucket_size) one.emplace_back("bucket_size_saves", point.bucket_size_saves);
    json::append(one, fields(kIterationColumns, point.metrics));
    json::append(one, fields(odds_columns(&PlannedPoint::odds), point));
    points.emplace_back(std::move(one));
  }
  Cell::Fields result{{"points", std::move(points)}};
  if (!plan.best.empty()) result.emplace_back("best", plan.chosen());
  if (plan.launched) {
    Cell::Fields own{{"file", plan.launched->file}};
    if (plan.launched->metrics)
      json::append(own, fields(kIterationColumns, *plan.launched->metrics));
    else
      own.emplace_back("error", plan.launched->refusal);
    result.emplace_back("as_launched", std::move(own));
  }
  json::append(result, {{"considered", plan.considered},
                        {"too_large", plan.too_large},
                        {"ruled_out", plan.ruled_out},
                        {"simulated", plan.simulated},
                        {"bucket_sizes", plan.bucket_sizes}});
  if (plan.best.empty()) result.emplace_back("least_memory_share", plan.least_memory);
  json::append(result, {{"notes", json::notes(notes)}, {"tool", json::tool(tool)}});
  return json::text_of(result);
}

std::string plan_csv(const Plan& plan) {
  using P = PlannedPoint;
  auto of_model = [](int SharedModelMetrics::*degree) {
    return [degree](const P& p) { return p.metrics.shared_model.value_or(SharedModelMetrics{}).*degree; };
  };
  auto of_setting = [](const char* key) { return [key](const P& p) { return setting(p.settings, key); }; };
  Columns<P> columns{
      {"iteration_s", [](const P& p) { return p.metrics.iteration; }},
      {"tokens_per_s", [](const P& p) { return p.metrics.tokens_per_s; }},
      {"mfu", [](const P& p) { return p.metrics.compute->mfu(); }},
      {"memory_peak_bytes", [](const P& p) { return p.metrics.memory->parts.peak(); }},
      {"tensor", of_model(&SharedModelMetrics::tensor)},
      {"context", of_model(&SharedModelMetrics::context)},
      {"pipeline", of_model(&SharedModelMetrics::pipeline)},
      {"virtual", of_model(&SharedModelMetrics::chunks)},
      {"expert", of_model(&SharedModelMetrics::expert)},
      {"data",
       [](const P& p) {
         return p.metrics.shared_model ? p.metrics.shared_model->data : p.metrics.world_size;
       }},
      {"micro_batch", of_setting("workload.micro_batch")},
      {"recompute", of_setting("workload.recompute")},
      {"strategy", of_setting("strategy")},
      {"bucket_size", [](const P& p) {
         return p.bucket_size ? fmt::format("{}={}", p.bucket_size->first, p.bucket_size->second) : "";
       }}};
  for (std::string_view key : {"p10_s", "p90_s"}) {
    const auto& column = *std::ranges::find(kIterationColumns, key, &Column<IterationMetrics>::key);
    columns.push_back({key, [&column](const P& p) { return column.value(p.metrics); }, column.in});
  }
  auto odds = odds_columns(&P::odds);
  columns.insert(columns.end(), odds.begin(), odds.end());
  return csv::table(columns_in_csv(std::move(columns), plan.best), plan.best);
}

}  // namespace ddpsim
