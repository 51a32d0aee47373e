#include "sim/report/cap_formula.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/figures.hpp"

namespace ddpsim {
namespace {

// Of the groups in their order; those without caps have none.
template <class Visit>
void visit_formulas(const SweepResult& result, Visit visit) {
  for (const auto& group : result.groups(result.find_axis(kBucketCapAxis)))
    if (auto found = result.formulas.find(result.best_of(group.points)); found != result.formulas.end())
      visit(group, found->second);
}

}  // namespace

Bytes CapFormula::queueing() const {
  return std::sqrt(latency / backward) * gradients;
}

std::optional<Bytes> CapFormula::keeping_up() const {
  Seconds slack = backward - gradients / bandwidth;
  if (slack <= Seconds()) return std::nullopt;
  return (latency / slack) * gradients;
}

Bytes CapFormula::best() const {
  auto least = std::min(queueing(), gradients);
  if (auto other = keeping_up()) least = std::min(least, *other);
  return std::max(least, Bytes(1));
}

Seconds CapFormula::iteration(Bytes bucket) const {
  bucket = std::min(bucket, gradients);
  Seconds all_reduce = latency + bucket / bandwidth;
  double buckets = gradients / bucket;
  return rest + std::max((1 / buckets) * backward + buckets * all_reduce, backward + all_reduce);
}

std::vector<std::string> formula_lines(const SweepResult& result) {
  std::vector<std::string> lines;
  visit_formulas(result, [&](const SweepGroup& group, const CapFormula& f) {
    double steps = 2.0 * (f.ranks - 1);
    lines.push_back(fmt::format(
        "the textbook{}{}: an all-reduce takes A + bytes / W, A = {} and W = {} (the line "
        "through those of {} and {}; as a "
        "ring's {:.0f} steps alpha = {}, links of {}), gradients B = {} over G = {} of backward",
        group.name.empty() ? "" : " for ", group.name, format_seconds(f.latency),
        format_bandwidth(f.bandwidth), format_bytes(f.smallest), format_bytes(f.largest), steps,
        format_seconds(f.latency / steps), format_bandwidth((f.sent * steps / f.ranks) * f.bandwidth),
        format_bytes(f.gradients), format_seconds(f.backward)));
    auto other = f.keeping_up();
    lines.push_back(fmt::format("  b* = min(B sqrt(A/G) = {}, A B / (G - B/W) = {}, B) = {}: {}",
                                format_bytes(f.queueing()),
                                other ? format_bytes(*other) : "none, the links never keep up",
                                format_bytes(f.best()), format_seconds(f.iteration(f.best()))));
  });
  return lines;
}

ShownTable formula_table(const SweepResult& result) {
  struct Row {
    std::string group;
    Bytes cap;
    Seconds simulated, formula;
  };
  std::vector<Row> rows;
  visit_formulas(result, [&](const SweepGroup& group, const CapFormula& formula) {
    for (auto i : group.points)
      if (const auto& metrics = result.points[i].metrics; metrics.bucket_cap)
        rows.push_back(
            {group.name, *metrics.bucket_cap, metrics.iteration, formula.iteration(*metrics.bucket_cap)});
  });
  ShownTable table;
  table.add(
      "group", rows, [](const Row& row) { return row.group; }, 0, Form::plain, true);
  table.add("bucket_cap", rows,
            [](const Row& row) { return short_text(row.cap.value(), Measure::binary_bytes); });
  table.add("simulated", rows, &Row::simulated);
  table.add("formula", rows, &Row::formula);
  table.add(
      "error", rows, [](const Row& row) { return row.formula / row.simulated - 1; }, 0, Form::change);
  return table;
}

}  // namespace ddpsim
