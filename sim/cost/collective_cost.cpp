#include "sim/cost/collective_cost.hpp"

#include <algorithm>
#include <map>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/cost/direct_sends.hpp"

namespace ddpsim {
namespace {

CollectiveDuration either_way(Seconds time) {
  return {time, time};
}

// A collective over the links of a group, nobody else on them. Broadcasts and reduces are counted as plain
// rings' shares: chains take as many rounds again to fill and to drain as they have ranks, every one of them
// another one to play.
class OverLinks {
 public:
  OverLinks(const Cluster& cluster, std::span<const int> gpus, Operation operation)
      : plan_(make_plan(cluster, gpus, operation)), time_(plan_.groups.front().plan, plan_.links) {
    if (is_chain(operation)) share_ = share_of_all_reduce(operation, static_cast<int>(gpus.size()));
  }
  OverLinks(const OverLinks&) = delete;
  OverLinks& operator=(const OverLinks&) = delete;

  Seconds operator()(Bytes bytes) { return share_ * time_(bytes); }

 private:
  static TrafficPlan make_plan(const Cluster& cluster, std::span<const int> gpus, Operation operation) {
    auto schedule =
        operation_schedule(cluster, gpus, is_chain(operation) ? Operation::all_reduce : operation);
    return fold({{{&schedule, 0}}, {}, [&](int link) { return cluster.link(link).bandwidth; }});
  }
  TrafficPlan plan_;
  CollectiveTime time_;
  double share_ = 1;
};

// A communicator of the folded plan. Operations that are in the traffic have stages in it.
class OnPlan : public CollectiveCost {
 public:
  OnPlan(std::shared_ptr<const Communication> communication, std::size_t folded_group)
      : communication_(std::move(communication)) {
    if (communication_->folded) {
      group_ = &communication_->folded->groups[folded_group];
      member_ = group_->members.front();
    }
  }

 protected:
  [[nodiscard]] const Communication& communication() const { return *communication_; }
  [[nodiscard]] std::size_t member() const { return member_; }
  [[nodiscard]] std::span<const int> gpus() const { return communication_->groups[member_]; }
  [[nodiscard]] const TrafficPlan::Group& group() const { return *group_; }
  [[nodiscard]] const Communication::Stages* stages(Operation operation) const {
    if (!group_) return nullptr;
    auto known = communication_->stages[member_].find(operation);
    return known == communication_->stages[member_].end() ? nullptr : &known->second;
  }
  const DirectSends& direct_sends(Operation operation) {
    auto [it, is_new] = direct_.try_emplace(operation);
    const auto& cluster = *communication_->cluster;
    if (!is_new) return *it->second;
    if (communication_->nccl.empty())
      it->second.emplace(cluster, gpus(), operation);
    else
      it->second.emplace(communication_->nccl[member_]->ways(cluster), gpus(), operation);
    return *it->second;
  }

 private:
  std::shared_ptr<const Communication> communication_;
  const TrafficPlan::Group* group_ = nullptr;
  std::size_t member_ = 0;
  std::map<Operation, std::optional<DirectSends>> direct_;
};

// Whose links say what it takes.
class LinkCost : public OnPlan {
 public:
  using OnPlan::OnPlan;

  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    if (const auto* own = stages(operation)) {
      // Groups that are always in step may share links, and then take longer than one alone.
      if (!together_) together_.emplace(group().plan, communication().folded->links);
      Seconds time;
      for (auto stage = own->first; stage < own->end; ++stage) time += together_->of_stage(stage, bytes);
      return either_way(time);
    }
    if (sends_directly(operation)) return either_way(direct_sends(operation).time(bytes));
    auto& own = over_links_[operation];
    if (!own) own = std::make_unique<OverLinks>(*communication().cluster, gpus(), operation);
    return either_way((*own)(bytes));
  }
  std::optional<OnLinks> on_links(Operation operation, Bytes) override {
    const auto* own = stages(operation);
    if (!own) return std::nullopt;
    return OnLinks{Seconds(0), own->first, own->end};
  }

 private:
  std::optional<CollectiveTime> together_;
  std::map<Operation, std::unique_ptr<OverLinks>> over_links_;
};

class NcclCost : public OnPlan {
 public:
  NcclCost(std::shared_ptr<const Communication> communication, std::size_t folded_group)
      : OnPlan(std::move(communication), folded_group) {
    if (this->communication().folded) {
      const auto& alone = this->communication().alone[folded_group];
      alone_.emplace(alone.groups.front().plan, alone.links);
      // With nobody else on the links the model has said all.
      if (!this->communication().is_settled())
        together_.emplace(group().plan, this->communication().folded->links);
    }
  }

  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    return either_way(known(alone_times_, operation, bytes, [&] { return time_alone(operation, bytes); }));
  }
  std::optional<OnLinks> on_links(Operation operation, Bytes bytes) override {
    if (!stages(operation)) return std::nullopt;
    return known(on_links_, operation, bytes, [&] {
      auto choice = choose(operation, bytes);
      return OnLinks{before_traffic(choice, bytes), choice.stage, choice.stage + 1};
    });
  }

 private:
  struct Choice {
    Seconds time;
    std::size_t stage = 0;
  };
  template <class T>
  using Known = std::map<std::pair<Operation, Bytes>, T>;
  // Iterations that differ ask for the same again and again, points of a sweep for ever new sizes.
  template <class T, class Find>
  static const T& known(Known<T>& all, Operation operation, Bytes bytes, const Find& find) {
    constexpr std::size_t kMostKnown = 1000;
    if (all.size() > kMostKnown) all.clear();
    auto [it, is_new] = all.try_emplace({operation, bytes});
    if (is_new) it->second = find();
    return it->second;
  }
  [[nodiscard]] const NcclModel& model() const { return *communication().nccl[member()]; }

  Choice choose(Operation operation, Bytes bytes) {
    const auto* own = stages(operation);
    std::size_t first = own ? own->first : 0;
    if (sends_directly(operation))
      return {model().choose_peers(operation, bytes, direct_sends(operation).bounds()).time, first};
    auto choice = model().choose(bytes, operation);
    return {choice.time, first + choice.stage};
  }

  Seconds time_alone(Operation operation, Bytes bytes) {
    auto choice = choose(operation, bytes);
    if (!together_ || !stages(operation)) return choice.time;
    return before_traffic(choice, bytes) + together_->of_stage(choice.stage, bytes);
  }

  // What NCCL takes beyond its traffic comes first.
  Seconds before_traffic(const Choice& choice, Bytes bytes) {
    return std::max(Seconds(0), choice.time - alone_->of_stage(choice.stage, bytes));
  }

  Known<Seconds> alone_times_;
  Known<OnLinks> on_links_;
  std::optional<CollectiveTime> alone_;  // one group of those that are alike, on links of its own
  std::optional<CollectiveTime> together_;
};

class LibraryCost : public CollectiveCost {
 public:
  explicit LibraryCost(std::shared_ptr<const LibraryModel> model) : model_(std::move(model)) {}
  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    return either_way(model_->time(bytes, operation));
  }

 private:
  std::shared_ptr<const LibraryModel> model_;
};

class TableCost : public CollectiveCost {
 public:
  TableCost(std::shared_ptr<const MeasuredTable> table, int ranks)
      : table_(std::move(table)), ranks_(ranks) {}
  CollectiveDuration alone(Operation operation, Bytes bytes) override {
    const auto& times = table_->of(table_->read_as(operation));
    if (!table_->has(operation))
      return either_way(share_of_all_reduce(operation, ranks_) * times.time(bytes, false));
    return {times.time(bytes, false), times.time(bytes, true)};
  }

 private:
  std::shared_ptr<const MeasuredTable> table_;
  int ranks_;
};

// Of a rank that has nobody to communicate with.
class NoCost : public CollectiveCost {
 public:
  CollectiveDuration alone(Operation, Bytes) override { return {}; }
};

}  // namespace

std::vector<GroupCost> group_costs(std::shared_ptr<const Communication> communication) {
  std::vector<GroupCost> costs;
  if (communication->is_alone()) {
    for (std::size_t g = 0; g < communication->groups.size(); ++g)
      costs.push_back({{g}, std::make_unique<NoCost>()});
  } else if (communication->library) {
    costs.push_back({{0}, std::make_unique<LibraryCost>(communication->library)});
  } else if (!communication->folded) {
    costs.push_back({{0}, std::make_unique<NcclCost>(communication, 0)});
  } else {
    for (std::size_t g = 0; g < communication->folded->groups.size(); ++g) {
      auto& cost = costs.emplace_back(GroupCost{communication->folded->groups[g].members, nullptr});
      if (communication->nccl.empty())
        cost.cost = std::make_unique<LinkCost>(communication, g);
      else
        cost.cost = std::make_unique<NcclCost>(communication, g);
    }
  }
  return costs;
}

GroupCost measured_cost(std::shared_ptr<const MeasuredTable> table, int ranks) {
  return {{0}, std::make_unique<TableCost>(std::move(table), ranks)};
}

}  // namespace ddpsim
