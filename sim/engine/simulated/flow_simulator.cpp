#include "sim/engine/simulated/flow_simulator.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/replay/background_traffic.hpp"
#include "sim/replay/executors.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {
namespace {

// Everything on the network: its links, who uses them, and how units are carried out.
class SimulatedTraffic {
 public:
  SimulatedTraffic(const TrafficPlan& plan, Fidelity fidelity, std::unique_ptr<Network> network)
      : plan_(plan), fidelity_(fidelity), network_(std::move(network)), users_(plan.links.size()) {
    for (auto bandwidth : plan.links) network_->add_link(bandwidth);
  }

  Network& network() { return *network_; }

  std::unique_ptr<PlanExecutor> make_executor(const FlowPlan& plan) {
    return std::make_unique<PlanExecutor>(plan, [this](const FlowUnit& unit) { return make_unit(unit); });
  }

  void prepare_background(const std::vector<BackgroundFlow>& flows, Seconds origin, Bytes piece,
                          const std::function<bool()>& is_over) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
      background_.push_back(std::make_unique<BackgroundTraffic>(*network_, users_, flows[f],
                                                                plan_.background[f], piece, is_over));
      background_.back()->prepare(origin);
    }
  }

 private:
  std::unique_ptr<UnitExecutor> make_unit(const FlowUnit& unit) {
    switch (fidelity_) {
      case Fidelity::exact:
      case Fidelity::folded:
        return make_stepped_executor(*network_, unit);
      case Fidelity::lazy:
        return make_lazy_executor(*network_, users_, unit, plan_.links);
      case Fidelity::fluid:
        return make_fluid_executor(*network_, unit, plan_.links);
      case Fidelity::closed_form:
        break;
    }
    throw InternalError("the closed form is not simulated");
  }

  const TrafficPlan& plan_;
  Fidelity fidelity_;
  std::unique_ptr<Network> network_;
  LinkUsers users_;
  std::vector<std::unique_ptr<BackgroundTraffic>> background_;
};

// The communication lane of one process group: collectives run one after the other, in launch order.
class CommunicationLane {
 public:
  CommunicationLane(Network& network, std::unique_ptr<PlanExecutor> executor,
                    std::optional<CollectiveTime> alone, std::vector<CollectiveRequest> requests)
      : network_(network),
        executor_(std::move(executor)),
        alone_(std::move(alone)),
        requests_(std::move(requests)) {}

  // Schedules every launch; run the network afterwards. `origin` is the network's time zero.
  void prepare(Seconds origin) {
    origin_ = origin;
    for (const auto& request : requests_)
      network_.after(request.launch - origin, [this] {
        ++launched_;
        start_next();
      });
  }

  [[nodiscard]] bool is_finished() const { return finished_ == requests_.size(); }
  // Throws InternalError when a collective never ended: without actors SimGrid reports no deadlock, and that
  // must not look like a short iteration.
  [[nodiscard]] const std::vector<Interval>& in_flight() const {
    DDPSIM_CHECK(is_finished(),
                 fmt::format("collective {} of {} never ended", finished_ + 1, requests_.size()));
    return in_flight_;
  }

 private:
  void start_next() {
    if (busy_ || finished_ == launched_) return;
    busy_ = true;
    in_flight_.push_back({origin_ + network_.now(), {}});
    const auto& request = requests_[finished_];
    if (!request.nccl) return executor_->start(request.bytes, [this] { finish(); });
    // What NCCL takes beyond its traffic comes first.
    Seconds traffic = alone_->of_stage(request.nccl->stage, request.bytes);
    network_.after(std::max(Seconds(0), request.nccl->time - traffic), [this, &request] {
      executor_->start_stage(request.nccl->stage, request.bytes, [this] { finish(); });
    });
  }

  void finish() {
    in_flight_.back().end = origin_ + network_.now();
    busy_ = false;
    ++finished_;
    start_next();
  }

  Network& network_;
  std::unique_ptr<PlanExecutor> executor_;
  std::optional<CollectiveTime> alone_;
  std::vector<CollectiveRequest> requests_;
  Seconds origin_;
  std::vector<Interval> in_flight_;
  std::size_t launched_ = 0, finished_ = 0;
  bool busy_ = false;
};

using MakeNetwork = FlowSimulator::MakeNetwork;
using Requests = std::vector<std::vector<CollectiveRequest>>;  // by group

// No flow is larger: a ring sends 2(n-1)/n of its buffer over an edge, a pipeline less than twice. Background
// traffic is cut into pieces of this size, or of what a link carries in a thousandth of the time until the
// last launch: some thousands of pieces at most.
Bytes largest_flow(const Requests& requests, const TrafficPlan& plan, Seconds origin) {
  Bytes largest;
  Seconds last = origin;
  for (const auto& group : requests)
    for (const auto& request : group) {
      largest = std::max(largest, 2 * request.bytes);
      last = std::max(last, request.launch);
    }
  for (const auto& route : plan.background)
    for (int link : route)
      largest = std::max(largest, plan.links[static_cast<std::size_t>(link)] * ((last - origin) / 1000));
  return largest;
}

// How long each stage of a group's all-reduces takes alone, where NCCL's model says how long all of it does.
std::optional<CollectiveTime> time_alone(const Communication& communication, std::size_t member) {
  for (std::size_t g = 0; g < communication.alone.size(); ++g) {
    const auto& members = communication.folded->groups[g].members;
    if (std::binary_search(members.begin(), members.end(), member))
      return CollectiveTime(communication.alone[g].groups.front().plan, communication.alone[g].links);
  }
  return std::nullopt;
}

// When each request of each group is in flight; `flows` becomes how many flows that took.
std::vector<std::vector<Interval>> run_traffic(const Scenario& scenario, const TrafficPlan& plan,
                                               const Requests& requests, const MakeNetwork& make,
                                               std::int64_t& flows) {
  const auto& background = scenario.communication->background;
  Seconds origin;
  for (const auto& group : requests) origin = std::min(origin, group.front().launch);
  for (const auto& flow : background) origin = std::min(origin, flow.start);
  Bytes largest = largest_flow(requests, plan, origin);
  SimulatedTraffic traffic(plan, scenario.fidelity, make(largest));
  std::vector<std::unique_ptr<CommunicationLane>> lanes;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    lanes.push_back(std::make_unique<CommunicationLane>(
        traffic.network(), traffic.make_executor(plan.groups[g].plan),
        time_alone(*scenario.communication, plan.groups[g].members.front()), requests[g]));
    lanes.back()->prepare(origin);
  }
  auto is_over = [&] {
    return std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane->is_finished(); });
  };
  traffic.prepare_background(background, origin, largest, is_over);
  traffic.network().run();
  flows = traffic.network().flows();
  std::vector<std::vector<Interval>> in_flight;
  for (const auto& lane : lanes) in_flight.push_back(lane->in_flight());
  return in_flight;
}

// `use` with the traffic as the scenario's fidelity has it simulated.
template <class Use>
auto with_plan(const Scenario& scenario, Use use) {
  const auto* communication = scenario.communication.get();
  DDPSIM_CHECK(communication, "a measured cost is not simulated");
  if (scenario.fidelity != Fidelity::exact) return use(*communication->folded);
  decltype(use(*communication->folded)) result;
  with_traffic(*communication, [&](const Traffic& traffic) { result = use(unfold(traffic)); });
  return result;
}

Requests requests_of(const Scenario& scenario, const TrafficPlan& plan) {
  Requests requests;
  for (const auto& group : plan.groups)
    requests.push_back(collective_requests(scenario, group.members.front()));
  return requests;
}

}  // namespace

Timeline FlowSimulator::run(const Scenario& scenario) {
  if (!scenario.is_plain()) return iterate(scenario, collectives(scenario));
  return with_plan(scenario, [&](const TrafficPlan& plan) {
    auto requests = requests_of(scenario, plan);
    auto in_flight = run_traffic(scenario, plan, requests, make_, flows_);
    Timeline timeline;
    for (std::size_t g = 0; g < plan.groups.size(); ++g)
      add_group(timeline, scenario, plan.groups[g].members, requests[g], in_flight[g]);
    return timeline;
  });
}

// A collective takes as long whenever it starts: all of them one after another, and one of nearly nothing,
// say how long each takes.
std::vector<GroupCollectives> FlowSimulator::collectives(const Scenario& scenario) {
  return with_plan(scenario, [&](const TrafficPlan& plan) {
    auto requests = requests_of(scenario, plan);
    auto at_once = requests;
    for (auto& group : at_once) {
      group.push_back(group.front());
      group.back().bytes = Bytes(1);
      for (auto& request : group) request.launch = Seconds(0);
    }
    auto in_flight = run_traffic(scenario, plan, at_once, make_, flows_);
    std::vector<GroupCollectives> groups;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      auto& group = groups.emplace_back(GroupCollectives{plan.groups[g].members, requests[g], {}, {}});
      for (const auto& [start, end] : in_flight[g]) group.durations.push_back({end - start, end - start});
      group.latency = group.durations.back().idle;
      group.durations.pop_back();
    }
    return groups;
  });
}

FlowSimulator& flow_simulator(SharedNetwork network) {
  if (network == SharedNetwork::builtin) {
    static FlowSimulator builtin(make_builtin_network, false);
    return builtin;
  }
  static FlowSimulator simgrid = [] {
    load_simgrid();  // once, and not by every worker
    return FlowSimulator(make_simgrid_network, true);
  }();
  return simgrid;
}

}  // namespace ddpsim
