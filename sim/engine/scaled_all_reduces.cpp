#include "sim/engine/scaled_all_reduces.hpp"

#include <map>
#include <set>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/engine/messages.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {
namespace {

// As a table of the very messages that are to come, so that nothing is read between its points.
MeasuredTable scaled_table(const Scenario& scenario, const AllReduceScale& scale) {
  auto table = *scenario.measured_table;
  std::map<Operation, std::set<Bytes>> sizes;
  for (const auto& [operation, bytes] : messages_of(scenario))
    if (operation != Operation::broadcast) sizes[operation].insert(bytes);
  for (const auto& one : sizes) {
    auto& times = table.operations.at(one.first);
    auto scaled = [&](bool is_queued) {
      std::vector<MeasuredPoint> points;
      for (Bytes bytes : one.second) {
        Seconds time = scale(times.time(bytes, is_queued), times.time(Bytes(0), is_queued));
        points.push_back({bytes, time, time});
      }
      return MeasuredCost(std::move(points), Pooling::none);
    };
    times = {scaled(false), scaled(true)};
  }
  return table;
}

}  // namespace

void scale_all_reduces(Scenario& scenario, const AllReduceScale& scale) {
  if (scenario.measured_table) {
    scenario.measured_table = std::make_shared<const MeasuredTable>(scaled_table(scenario, scale));
    return;
  }
  DDPSIM_CHECK(scenario.communication->library || !scenario.communication->nccl.empty(),
               "links say what these all-reduces take");
  auto communication = std::make_shared<Communication>(*scenario.communication);
  for (auto& model : communication->nccl) model = std::make_shared<const NcclModel>(model->scaled(scale));
  if (communication->library) communication->library = communication->library->scaled(scale);
  scenario.communication = std::move(communication);
}

}  // namespace ddpsim
