#include "sim/engine/scaled_all_reduces.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {
namespace {

// As a table of the very messages that are to come, so that nothing is read between its points.
MeasuredTable scaled_table(const MeasuredTable& table, const ReductionPlan& plan,
                           const AllReduceScale& scale) {
  auto all = all_reduces_of(plan);
  std::set<Bytes> sizes(all.begin(), all.end());
  if (plan.used_parameter_bitmap) sizes.insert(*plan.used_parameter_bitmap);
  auto scaled = [&](bool is_queued) {
    std::vector<MeasuredPoint> points;
    for (Bytes bytes : sizes) {
      Seconds time = scale(table.time(bytes, is_queued), table.time(Bytes(0), is_queued));
      points.push_back({bytes, time, time});
    }
    return MeasuredCost(std::move(points), Pooling::none);
  };
  return {scaled(false), scaled(true), table.world_size, table.run_set, table.backend};
}

}  // namespace

void scale_all_reduces(Scenario& scenario, const AllReduceScale& scale) {
  if (scenario.measured_table) {
    scenario.measured_table =
        std::make_shared<const MeasuredTable>(scaled_table(*scenario.measured_table, scenario.plan, scale));
    return;
  }
  DDPSIM_CHECK(scenario.communication->gloo || !scenario.communication->nccl.empty(),
               "links say what these all-reduces take");
  auto communication = std::make_shared<Communication>(*scenario.communication);
  for (auto& model : communication->nccl) model = std::make_shared<const NcclModel>(model->scaled(scale));
  if (const auto& gloo = communication->gloo)
    communication->gloo = std::make_shared<const GlooModel>(gloo->scaled(scale));
  scenario.communication = std::move(communication);
}

}  // namespace ddpsim
