#include "sim/report/plan_table.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

// Steps of tensor and pipeline parallelism are predicted to some 5 % (docs/accuracy.md): closer ones are
// ties.
constexpr double kTie = 0.02;

// How a model is spread; one alone where GPUs share nothing of it.
SharedModelMetrics split_of(const PlannedPoint& point) {
  const auto& m = point.metrics;
  if (m.shared_model) return *m.shared_model;
  SharedModelMetrics alone;
  alone.data = m.world_size;
  return alone;
}

bool shares_model(const PlannedPoint& point) {
  return point.metrics.shared_model.has_value();
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
    texts.push_back(
        fmt::format("{} {:.1f} %", cause_name(losses[i].row()), 100 * (losses[i].seconds / m.iteration)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string bucket_sizes_line(const Plan& plan) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < plan.best.size(); ++i)
    if (const auto& size = plan.best[i].bucket_size)
      kept.push_back(fmt::format("{} makes row {} {:.1f} % faster, as shown", as_typed(*size), i + 1,
                                 100 * plan.best[i].bucket_size_saves));
  return fmt::format("{} of the fastest: {}", counted(plan.bucket_sizes, "other bucket size"),
                     kept.empty() ? "none saves 0.5 %" : fmt::format("{}", fmt::join(kept, ", ")));
}

std::string counts_line(const Plan& plan) {
  return fmt::format("{}: {} do not fit, {} simulated, {} skipped, which cannot be faster than those",
                     counted(plan.considered, "combination"), plan.too_large, plan.simulated, plan.ruled_out);
}

bool is_tied(const Plan& plan, const PlannedPoint& point) {
  const auto& first = plan.best.front().metrics;
  return first.uncertainty ? point.odds && point.odds->is_tied
                           : point.metrics.iteration <= (1 + kTie) * first.iteration;
}

// The columns that are the same in every row are a phrase instead.
struct PlanTable {
  ShownTable table;
  std::vector<std::string> alike;

  explicit PlanTable(const Plan& plan);
  void add_split(const Plan& plan);
  // Of what a plan is not often chosen by.
  void add_setting(const Plan& plan, const char* head, std::string_view key, int drop,
                   const std::function<std::string(const std::string&)>& phrase) {
    auto first = setting(plan.best.front().settings, key);
    auto has_first = [&](const PlannedPoint& point) { return setting(point.settings, key) == first; };
    if (plan.best.size() > 1 && std::ranges::all_of(plan.best, has_first)) {
      alike.push_back(phrase(first));
      return;
    }
    table.add(
        head, plan.best, [&](const PlannedPoint& point) { return setting(point.settings, key); }, drop,
        Form::plain, true);
  }
};

void PlanTable::add_split(const Plan& plan) {
  auto degree = [&](const char* head, int SharedModelMetrics::*of, bool is_always) {
    bool is_used = std::ranges::any_of(plan.best, [&](const auto& point) { return split_of(point).*of > 1; });
    if (is_always || is_used)
      table.add(head, plan.best, [&](const PlannedPoint& point) { return split_of(point).*of; });
  };
  degree("TP", &SharedModelMetrics::tensor, true);
  degree("CP", &SharedModelMetrics::context, false);
  degree("EP", &SharedModelMetrics::expert, false);
  table.add("PP", plan.best, [](const PlannedPoint& point) {
    auto split = split_of(point);
    return split.chunks > 1 ? fmt::format("{}×{}", split.pipeline, split.chunks)
                            : fmt::format("{}", split.pipeline);
  });
  degree("DP", &SharedModelMetrics::data, true);
}

PlanTable::PlanTable(const Plan& plan) {
  const auto& best = plan.best;
  const auto fastest = best.front().metrics.iteration;
  table.add("step", best, [](const PlannedPoint& point) { return point.metrics.iteration; });
  table.add(
      "vs first", best,
      [&](const PlannedPoint& point) {
        return &point == &best.front() ? Cell() : Cell(point.metrics.iteration / fastest - 1);
      },
      6, Form::change);
  table.add("tok/s/GPU", best, [](const PlannedPoint& point) {
    const auto& m = point.metrics;
    return m.tokens_per_s ? Cell(*m.tokens_per_s / m.gpus()) : Cell();
  });
  table.add(
      "days", best, [](const PlannedPoint& point) { return Cell(point.metrics.training_days()); }, 1);
  table.add(
      "cost", best, [](const PlannedPoint& point) { return Cell(point.metrics.training_cost()); }, 1);
  table.add(
      "MFU", best,
      [](const PlannedPoint& point) {
        return point.metrics.compute ? Cell(point.metrics.compute->mfu()) : Cell();
      },
      5, Form::share);
  table.add(
      "GB", best,
      [](const PlannedPoint& point) {
        return decimal_text(point.metrics.memory->parts.peak().value() / 1e9, 1);
      },
      2);
  table.add(
      "strategy", best, [](const PlannedPoint& point) { return setting(point.settings, "strategy"); }, 0,
      Form::plain, true);
  add_split(plan);
  add_setting(plan, "micro", "workload.micro_batch", 4,
              [](const auto& text) { return "micro-batch " + text; });
  add_setting(plan, "recompute", "workload.recompute", 3,
              [](const auto& text) { return text == "none" ? "no recomputation" : "recomputation " + text; });
  table.add(
      "P(best)", best,
      [](const PlannedPoint& point) { return point.odds ? Cell(point.odds->p_best) : Cell(); }, 8,
      Form::share);
  table.add(
      "lost to", best, [](const PlannedPoint& point) { return losses_of(point.metrics); }, 7, Form::plain,
      true);
  for (std::size_t i = 0; i < best.size(); ++i)
    table.marks.push_back(i == plan.chosen() ? Mark::best : is_tied(plan, best[i]) ? Mark::tied : Mark::none);
}

// "megatron, TP2 × DP32".
std::string name_of(const PlannedPoint& point) {
  auto split = split_of(point);
  std::vector<std::string> degrees;
  for (auto [name, degree] : {std::pair("TP", split.tensor),
                              {"CP", split.context},
                              {"PP", split.pipeline},
                              {"EP", split.expert},
                              {"DP", split.data}})
    if (degree > 1) degrees.push_back(fmt::format("{}{}", name, degree));
  auto strategy = setting(point.settings, "strategy");
  return degrees.empty() ? strategy : fmt::format("{}, {}", strategy, fmt::join(degrees, " × "));
}

std::string verdict_of(const Plan& plan) {
  const auto& chosen = plan.best[plan.chosen()];
  auto ties = std::ranges::count_if(plan.best, [&](const auto& one) { return is_tied(plan, one); }) -
              (is_tied(plan, chosen) ? 1 : 0);
  auto line = fmt::format("{}: {}", name_of(chosen), likely_text(chosen.metrics));
  if (ties == 0) return line + ".";
  auto others = ties == 1 ? std::string("another (≈)") : fmt::format("{} others (≈)", ties);
  return plan.best.front().metrics.uncertainty
             ? fmt::format("{}; not told apart from {}.", line, others)
             : fmt::format("{}; within {:.0f} % of {}, by what such estimates are off.", line, 100 * kTie,
                           others);
}

// What follows the verdict: how sure it is, and the plain way.
std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  const auto& chosen = plan.best[plan.chosen()];
  if (chosen.odds && plan.best.size() > 1)
    lines.push_back(fmt::format("{:.0f} % sure that it is the fastest; it loses {:.1f} % on average",
                                100 * chosen.odds->p_best, 100 * chosen.odds->regret));
  if (const auto& sure = chosen.metrics.uncertainty)
    lines.push_back(fmt::format("in doubt: {}", fmt::join(sure->phrases(), "; ")));
  auto plain = std::ranges::find_if(plan.best, [](const auto& one) { return !shares_model(one); });
  if (shares_model(chosen) && plain != plan.best.end())
    lines.push_back(fmt::format("simplest, data parallelism alone: {}, {:+.1f} %",
                                setting(plain->settings, "strategy"),
                                100 * (plain->metrics.iteration / chosen.metrics.iteration - 1)));
  if (auto training = training_text(chosen.metrics); !training.empty()) lines.push_back(training);
  if (plan.bucket_sizes > 0) lines.push_back(bucket_sizes_line(plan));
  return lines;
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
std::string launched_line(const Plan& plan) {
  const auto& [file, has_micro_batch, metrics, refusal] = *plan.launched;
  auto line = fmt::format("as {}{} has it", file, has_micro_batch ? "" : ", with a micro-batch of 1,");
  if (!metrics) return fmt::format("{} there is no step: {}", line, refusal);
  line += ": " + format_seconds(metrics->iteration);
  if (metrics->memory && !metrics->memory->fits())
    line += fmt::format(", which does not fit: {:.1f} GB", metrics->memory->parts.peak().value() / 1e9);
  if (!plan.best.empty())
    line += fmt::format(", {:.2f} times the best above",
                        metrics->iteration / plan.best[plan.chosen()].metrics.iteration);
  return line;
}

std::string smallest_line(const Plan& plan) {
  std::vector<std::string> smallest;
  for (const auto& one : plan.smallest) smallest.push_back(as_typed(one));
  return fmt::format("nothing fits: the smallest takes {:.2f} times a GPU's memory: {}", plan.least_memory,
                     fmt::join(smallest, " "));
}

}  // namespace

void print_plan(std::ostream& out, const Terminal& terminal, const Plan& plan, double most_memory) {
  auto say = [&](const std::string& line, Look style = Look::plain) {
    out << terminal.wrapped(line, style) << '\n';
  };
  std::string alike;
  if (plan.best.empty()) {
    say(smallest_line(plan), Look::verdict);
  } else {
    PlanTable shown(plan);
    print_shown(out, terminal, shown.table);
    if (!shown.alike.empty()) alike = fmt::format("; all rows: {}", fmt::join(shown.alike, ", "));
    out << '\n';
    say(verdict_of(plan), Look::verdict);
    for (const auto& line : lines_of(plan)) say(line);
    std::vector<std::string> settings;
    for (const auto& one : plan.best[plan.chosen()].settings) settings.push_back("--set " + as_typed(one));
    say(fmt::format("use it: {} (--out writes it as a scenario)", fmt::join(settings, " ")));
  }
  say(counts_line(plan) + alike, Look::dim);
  if (!plan.best.empty() && most_memory != kFittingShare)
    say(fmt::format("up to {:.0f} % of a GPU's memory", 100 * most_memory));
  if (plan.launched) out << '\n' << terminal.wrapped(launched_line(plan)) << '\n';
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
