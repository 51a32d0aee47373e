#include "sim/engine/together.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/replay/replay.hpp"

namespace ddpsim {
namespace {

class CostTogether final : public CollectiveCost {
 public:
  explicit CostTogether(std::shared_ptr<const Communication> communication)
      : communication_(std::move(communication)), costs_(group_costs(communication_)) {
    const auto* folded = communication_->folded ? &*communication_->folded : nullptr;
    meet_ = folded && folded->is_contended();
    for (std::size_t g = 0; g < costs_.size(); ++g)
      all_.groups.push_back({costs_[g].cost.get(), meet_ ? &folded->groups[g].plan : nullptr});
  }

  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    if (known_.size() > kMostKnown) known_.clear();
    auto [it, is_new] = known_.try_emplace({operation, bytes});
    if (is_new) it->second = simulated(operation, bytes);
    return it->second;
  }

 private:
  static constexpr std::size_t kMostKnown = 10'000;
  [[nodiscard]] CollectiveDuration simulated(Operation operation, Bytes bytes) const {
    Program program;
    auto& op = program.ops.emplace_back();
    op.kind = Op::Kind::collective;
    op.operation = operation;
    op.bytes = bytes;
    ReplayedClass everybody{&program, 1, Seconds(0), {0}};
    auto network = meet_ ? make_builtin_network(2 * bytes) : make_timer_network();
    SharedLinks links;
    if (meet_) links.capacities = communication_->folded->links;
    auto result = replay({&everybody, 1}, {&all_, 1}, {}, *network, links);
    auto time = result.communication.front().front().end;
    return {time, time};
  }

  std::shared_ptr<const Communication> communication_;
  std::vector<GroupCost> costs_;  // by group of the folded plan
  bool meet_ = false;
  ReplayedCommunicator all_;
  std::map<std::pair<Operation, Bytes>, CollectiveDuration> known_;
};

}  // namespace

std::unique_ptr<CollectiveCost> cost_together(std::shared_ptr<const Communication> communication) {
  return std::make_unique<CostTogether>(std::move(communication));
}

}  // namespace ddpsim
