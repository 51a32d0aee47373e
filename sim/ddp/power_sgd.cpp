#include "sim/ddp/power_sgd.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

LowRankPlan low_rank_plan(const LayerTrace& trace, std::span<const std::int64_t> rows,
                          const PowerSgd& options) {
  DDPSIM_CHECK(rows.size() == trace.gradients.size(), "every gradient has a shape");
  LowRankPlan plan{options, {}};
  plan.gradients.reserve(rows.size());
  for (std::size_t g = 0; g < rows.size(); ++g) {
    auto elements = trace.gradients[g].elements;
    LowRank matrix{rows[g], elements / rows[g]};
    auto rank = std::min({matrix.rows, matrix.columns, std::int64_t{options.rank}});
    // _should_compress
    auto compressed = static_cast<double>((matrix.rows + matrix.columns) * rank);
    if (compressed * options.min_compression_rate < static_cast<double>(elements))
      matrix.rank = static_cast<int>(rank);
    plan.gradients.push_back(matrix);
  }
  return plan;
}

LowRankElements low_rank_elements(const LowRankPlan& plan, std::span<const std::size_t> gradients) {
  LowRankElements elements;
  for (auto gradient : gradients) {
    const auto& [rows, columns, rank] = plan.gradients[gradient];
    if (rank == 0) elements.whole += rows * columns;
    elements.p += rows * rank;
    elements.q += columns * rank;
  }
  return elements;
}

}  // namespace ddpsim
